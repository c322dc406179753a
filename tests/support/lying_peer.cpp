#include "lying_peer.hpp"

#include "base/tags.hpp"
#include "codec_specs.hpp"
#include "elements.hpp"
#include "forwarding_transport.hpp"
#include "nasty_values.hpp"
#include "testing/loopback_transport.hpp"

#include <cohom/allreduce.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>

namespace cohom::test {
namespace {

constexpr int calls = 2;
constexpr int liar_rank = 1;
/// Sweeps over all ranks without a message after which nothing will come any more. A call's codec
/// work, in slices, takes far fewer.
constexpr int max_quiet_sweeps = 5000, max_quiet_sweeps_after_failure = 500;

/// Normal values: a part of those that are drawn once, because drawing them took most of a case's
/// time.
std::vector<double> normal_part(std::size_t count, std::uint64_t seed) {
  constexpr std::size_t most = 1 << 16;
  static const std::vector<double> drawn = normal_values(most, 1);
  const std::size_t first = std::mt19937_64(seed)() % (most - count);
  return {drawn.begin() + std::ptrdiff_t(first), drawn.begin() + std::ptrdiff_t(first + count)};
}

/// What the transports of one case share.
struct Wire {
  std::uint64_t messages = 0;  ///< sent or arrived
  bool cut = false;            ///< every rank's next poll fails
  const LyingPeerCase* lying = nullptr;
  int sent = 0;  ///< by the liar
};

class CountingChannel : public ForwardingChannel {
 public:
  CountingChannel(std::unique_ptr<Channel> channel, Wire& wire)
      : ForwardingChannel(std::move(channel)), wire_(wire) {}

  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override {
    ++wire_.messages;
    ForwardingChannel::send(data, peer, tag, cookie);
  }
  std::size_t poll(std::span<Completion> out) override {
    if (wire_.cut) throw Error(ErrorKind::transport, "the case is over");
    const std::size_t count = ForwardingChannel::poll(out);
    wire_.messages += count;
    return count;
  }

 protected:
  Wire& wire_;
};

class LyingChannel final : public CountingChannel {
 public:
  using CountingChannel::CountingChannel;

  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override {
    if (!lies_in(tag) || data.empty()) return CountingChannel::send(data, peer, tag, cookie);
    kept_.emplace_back(data.begin(), data.end());
    change(kept_.back());
    CountingChannel::send(kept_.back(), peer, tag, cookie);
  }

 private:
  std::uint64_t draw() { return wire_.lying->draw(); }

  bool lies_in(std::uint32_t tag) {
    const LyingPeerCase& lying = *wire_.lying;
    // The call's own agreement has the highest tags.
    if (is_agreement_tag(tag)) return lying.agreement && draw() % 4 == 0;
    const int number = wire_.sent++;
    if (lying.percent == 0) return number == lying.target;
    return draw() % 100 < static_cast<unsigned>(lying.percent);
  }

  void change(std::vector<std::byte>& message) {
    const std::size_t size = message.size();
    switch (wire_.lying->mode >= 0 ? Lie(wire_.lying->mode) : Lie(draw() % lies)) {
      case Lie::flipped_bit: {
        const std::uint64_t bit = draw() % 8;
        message[draw() % size] ^= std::byte(1u << bit);
        break;
      }
      case Lie::random_bytes:
        for (int i = 0; i < 8; ++i) {
          const auto byte = std::byte(draw());
          message[draw() % size] = byte;
        }
        break;
      case Lie::known_words: write_known_words(message); break;
      case Lie::all_random:
        for (std::byte& byte : message) byte = std::byte(draw());
        break;
      case Lie::all_alike: {
        const bool ones = draw() % 2 != 0;
        std::ranges::fill(message, std::byte(ones ? 0xff : draw()));
        break;
      }
      case Lie::cut_to_words: message.resize(size / 8 != 0 ? 8 * (draw() % (size / 8)) : 0); break;
      case Lie::cut: message.resize(draw() % size); break;
    }
  }

  void write_known_words(std::vector<std::byte>& message) {
    constexpr std::uint64_t known[] = {0,
                                       ~std::uint64_t{0},
                                       std::uint64_t{1} << 63,
                                       0x7fffffffffffffff,
                                       0x7fc000007fc00000,
                                       0xffffffff,
                                       0x80000000,
                                       0x7fffffff,
                                       1,
                                       0xfff0000000000000,
                                       0x1fffffff,
                                       4096,
                                       0xffffffff00000000,
                                       8191,
                                       4096 + 1100,
                                       0x44c0000044c};
    const std::size_t words = message.size() / 8;
    for (std::uint64_t left = 1 + draw() % 6; left != 0; --left) {
      if (words == 0) continue;
      const std::size_t among = draw() % 2 != 0 ? std::min<std::size_t>(words, 8) : words;
      const std::size_t at = draw() % among;
      std::memcpy(message.data() + 8 * at, &known[draw() % std::size(known)], 8);
    }
  }

  std::vector<std::vector<std::byte>> kept_;  ///< until the channel goes
};

template <class SomeChannel>
class WireTransport final : public ForwardingTransport {
 public:
  WireTransport(std::shared_ptr<Transport> transport, Wire& wire)
      : ForwardingTransport(std::move(transport)), wire_(wire) {}
  std::unique_ptr<Channel> open(std::uint32_t number) override {
    return std::make_unique<SomeChannel>(ForwardingTransport::open(number), wire_);
  }

 private:
  Wire& wire_;
};

/// One rank of a case, with a call in flight until all are done or one failed.
class CaseRank {
 public:
  CaseRank(const LyingPeerCase& lying, int rank, LoopbackHub& hub, Wire& wire)
      : lying_(lying),
        rank_(rank),
        communicator_(transport_of(rank, hub.transport(rank), wire),
                      {.fabric = hub.native_reductions(rank)}) {
    start();
  }

  [[nodiscard]] bool over() const { return !request_; }
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

  /// One slice of the call in flight.
  void advance() try {
    if (over() || !request_->test()) return;
    if (++call_ < calls)
      start();
    else
      request_.reset();
  } catch (const Error& error) {
    error_ = error.what();
    request_.reset();
  }

 private:
  static std::shared_ptr<Transport> transport_of(int rank, std::shared_ptr<Transport> transport,
                                                 Wire& wire) {
    if (rank == liar_rank)
      return std::make_shared<WireTransport<LyingChannel>>(std::move(transport), wire);
    return std::make_shared<WireTransport<CountingChannel>>(std::move(transport), wire);
  }

  void start() {
    const std::uint64_t seed = lying_.seed + static_cast<unsigned>(rank_);
    std::vector<double> values = normal_part(lying_.count, seed);
    if (lying_.nasty) make_nasty(values, seed);
    input_ = to_bytes(lying_.type, values);
    output_.assign(input_.size(), std::byte{});
    Options options;
    options.codec = lying_.spec;
    options.algorithm = lying_.algorithm;
    options.op = lying_.mean ? ReduceOp::mean : ReduceOp::sum;
    options.buffer = "b";
    request_.emplace(allreduce_start(input_.data(), output_.data(), lying_.count, lying_.type,
                                     communicator_, options));
  }

  const LyingPeerCase& lying_;
  int rank_;
  Bytes input_, output_;
  Communicator communicator_;
  std::optional<Request> request_;
  int call_ = 0;
  std::optional<std::string> error_;
};

}  // namespace

std::string LyingPeerCase::name() const {
  return "seed " + std::to_string(seed) + ": " + std::to_string(ranks) + " ranks " + spec + " " +
         std::string(algorithm) + " " + std::string(name_of(type)) + " count " +
         std::to_string(count) + (nasty ? " nasty" : "") + (mean ? " mean" : "") + " mode " +
         std::to_string(mode) + " percent " + std::to_string(percent) + " target " +
         std::to_string(target) + (agreement ? " agreement" : "") + " messages of " +
         std::to_string(message_bytes);
}

LyingPeerCase lying_peer_case(std::uint64_t seed) {
  constexpr std::string_view algorithms[] = {"ring", "direct", "tree", "recursive_doubling"};
  constexpr ElementType types[] = {ElementType::f32, ElementType::f32, ElementType::f64,
                                   ElementType::f16, ElementType::bf16};
  constexpr std::size_t counts[] = {1, 7, 255, 256, 1000, 4096, 10000, 20000, 40000};
  std::mt19937_64 random(seed * 7919 + 13);
  LyingPeerCase lying;
  lying.seed = seed;
  lying.ranks = 2 + static_cast<int>(random() % 3);
  const auto specs = specs_for(lying.ranks);
  lying.spec = specs[random() % specs.size()].spec;
  lying.algorithm = algorithms[random() % std::size(algorithms)];
  lying.type = types[random() % std::size(types)];
  lying.count = counts[random() % std::size(counts)];
  lying.message_bytes = random() % 2 != 0 ? 256 << 10 : 512;
  lying.mode = static_cast<int>(random() % 8) - 1;
  lying.percent = random() % 2 != 0 ? static_cast<int>(1 + random() % 60) : 0;
  lying.target = static_cast<int>(random() % 12);
  lying.agreement = random() % 10 == 0;
  lying.nasty = random() % 2 != 0;
  lying.mean = random() % 2 != 0;
  // Later than the draws of cases that are known by their seeds. Messages of several chunks.
  constexpr std::string_view of_several_chunks[] = {"recursive_halving", "grid"};
  if (seed >= 50000 && random() % 2 != 0) lying.algorithm = of_several_chunks[random() % 2];
  lying.draw = [engine = std::mt19937_64(seed)]() mutable { return engine(); };
  return lying;
}

LyingPeerReport run_lying_peer(const LyingPeerCase& lying) {
  LoopbackHub hub(lying.ranks, {.eager_limit = 1 << 20,  // what is sent need not live on
                                .preferred_message_bytes = lying.message_bytes});
  Wire wire{.lying = &lying};
  std::vector<std::unique_ptr<CaseRank>> ranks;
  for (int rank = 0; rank < lying.ranks; ++rank)
    ranks.push_back(std::make_unique<CaseRank>(lying, rank, hub, wire));

  LyingPeerReport report;
  std::uint64_t seen = 0;
  for (int quiet = 0; !std::ranges::all_of(ranks, &CaseRank::over); ++quiet) {
    for (const auto& rank : ranks) rank->advance();
    if (std::exchange(seen, wire.messages) != wire.messages) quiet = 0;
    const bool failed =
        std::ranges::any_of(ranks, [](const auto& rank) { return rank->error().has_value(); });
    if (quiet < (failed ? max_quiet_sweeps_after_failure : max_quiet_sweeps)) continue;
    if (!failed) report.outcome = LyingPeerOutcome::stuck;
    break;
  }
  for (int rank = 0; rank < lying.ranks; ++rank)
    if (const auto& error = ranks[std::size_t(rank)]->error())
      report.errors.push_back("rank " + std::to_string(rank) + ": " + *error);
  if (!report.errors.empty()) report.outcome = LyingPeerOutcome::failed;
  // Those that wait are told to go, before anything that others may read does.
  wire.cut = true;
  while (!std::ranges::all_of(ranks, &CaseRank::over))
    for (const auto& rank : ranks) rank->advance();
  return report;
}

}  // namespace cohom::test
