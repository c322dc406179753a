// A member of a group of one that does what no rank does: hostile_member HOST:PORT MODE COUNT
// [SEED]
//   addresses  joins COUNT times with a UCX address that is wrong, and whose checksum is right
//   flood      contributes COUNT times, whatever it is told
//   hello      says hello with COUNT MiB behind it
// Prints one line about what became of it.

#include "aggregation/auth/job_key.hpp"
#include "aggregation/net/endpoint.hpp"
#include "aggregation/protocol/connection.hpp"
#include "aggregation/protocol/handshake.hpp"
#include "aggregation/protocol/hello.hpp"
#include "ucx_transport/library_version.hpp"
#include "ucx_transport/message_link.hpp"

#include <cohom/error.hpp>

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

namespace cohom::offload {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class Member : ucx::MessageReceiver {
 public:
  Member(const std::string& where, const JobSecret& secret)
      : control_(start_connecting(resolve(parse_endpoint(where, "HOST:PORT"))), max_message_bytes),
        worker_({.features = UCP_FEATURE_AM}),
        job_(secret) {
    receive_messages(worker_, *this);
    wait(POLLOUT, 3s);
    shake_hands();
    const Join join{.job = job_.public_key(),
                    .group = 1,
                    .worker = 0,
                    .workers = 1,
                    .payload_bytes = 8192,
                    .message_bytes = 57344,
                    .slots = 64};
    control_.send(join);
    auto answer = next(10s);
    if (const auto* asked = answer ? std::get_if<JoinChallenge>(&*answer) : nullptr) {
      control_.send(JoinProof{0, job_.sign(join_statement(join, asked->nonce))});
      answer = next(10s);
    }
    const auto* admitted = answer ? std::get_if<Admitted>(&*answer) : nullptr;
    if (admitted == nullptr) throw Error(ErrorKind::transport, "not admitted");
    admitted_ = *admitted;
    link_ = std::make_unique<ucx::MessageLink>(
        worker_, checked_bytes(admitted_.ucx_address, ucx::library_version(), "the daemon"));
  }
  ~Member() override { link_.reset(); }

  [[nodiscard]] UcxAddress address() const { return worker_.sealed_address(); }
  void tell(const UcxAddress& address) { control_.send(WorkerAddress{address}); }
  void say_hello(const std::shared_ptr<const std::vector<std::byte>>& data) {
    link_->send(header(), *data, data, &open_messages_);
    while (open_messages_ != 0 && link_->failure() == UCS_OK) worker_.progress();
  }
  /// Whether it has been answered in time.
  bool hello_answered(std::chrono::milliseconds time) {
    for (const auto end = Clock::now() + time; !hello_answered_ && Clock::now() < end && well();) {
      worker_.progress();
      std::this_thread::sleep_for(1ms);
    }
    return hello_answered_;
  }
  bool open() {
    control_.send(Ready{});
    const auto go = next(10s);
    return go && std::holds_alternative<Go>(*go);
  }
  /// Of a payload that fills its message many times when it is promoted.
  void flood(long count) {
    const Promotion promotion{.narrow_width = 1, .wide_width = 32, .block = 1024, .levels = {}};
    constexpr std::size_t blocks = 14, wide_words = 512, narrow_words = 16;
    const auto words = std::make_shared<const std::vector<std::uint64_t>>(blocks * narrow_words);
    std::vector<std::uint32_t> use(admitted_.slots);
    for (long i = 0; i < count && well(); ++i) {
      const auto slot = static_cast<std::size_t>(i) % use.size();
      cohom_header packet = header();
      packet.kind = cohom_contribution;
      packet.call = 0;
      packet.slot = static_cast<__u16>(slot);
      packet.sequence = use[slot]++;
      packet.words = blocks * wide_words;
      link_->send(packet, std::as_bytes(std::span(*words)), words, &open_messages_, &promotion);
      // Sums are never taken: its own messages alone leave.
      while (open_messages_ > 64 && well()) worker_.progress();
    }
  }
  /// What the control channel says of the end; waits for it.
  std::string end(std::chrono::milliseconds time) {
    if (ended_.empty()) next(time);
    return ended_.empty() ? "nothing" : ended_;
  }

 private:
  void shake_hands() {
    const char* const token = std::getenv("COHOM_AGGREGATOR_TOKEN");
    ClientHandshake handshake(token != nullptr ? token : "");
    control_.send(handshake.begin());
    while (!handshake.done()) {
      const auto message = next(10s);
      if (!message) throw Error(ErrorKind::transport, "no handshake");
      if (const auto proof = handshake.answer(*message)) control_.send(*proof);
    }
  }
  void take(const cohom_header& packet, std::span<const std::byte>) noexcept override {
    hello_answered_ |= packet.kind == cohom_hello_answer;
    if (packet.kind == cohom_sum) std::this_thread::sleep_for(10ms);  // a slow reader
  }
  [[nodiscard]] cohom_header header() const {
    return make_hello({.job = job_.id(),
                       .epoch = admitted_.epoch,
                       .key = admitted_.key,
                       .group = admitted_.number,
                       .worker = 0,
                       .own_group = admitted_.number});
  }
  bool well() {
    if (++polls_ % 256 == 0) next(0ms);
    return ended_.empty() && link_->failure() == UCS_OK;
  }
  bool wait(short events, std::chrono::milliseconds time) {
    pollfd waiting{control_.descriptor(), events, 0};
    return ::poll(&waiting, 1, static_cast<int>(time.count())) > 0;
  }
  std::optional<Message> next(std::chrono::milliseconds time) {
    const auto end = Clock::now() + time;
    do {
      const bool alive = !wait(POLLIN, std::min(time, 50ms)) || control_.read();
      if (auto message = control_.next()) {
        if (const auto* refused = std::get_if<Refused>(&*message)) ended_ = refused->text;
        return message;
      }
      if (!alive) {
        ended_ = "the connection has ended";
        return std::nullopt;
      }
    } while (Clock::now() < end);
    return std::nullopt;
  }

  Connection control_;
  ucx::Worker worker_;
  JobKey job_;
  Admitted admitted_;
  std::size_t open_messages_ = 0;  ///< before the link, which counts what leaves it to its end
  std::unique_ptr<ucx::MessageLink> link_;
  bool hello_answered_ = false;
  std::string ended_;
  std::uint64_t polls_ = 0;
};

JobSecret secret_of(std::mt19937_64& random) {
  JobSecret secret{};
  for (auto& byte : secret) byte = static_cast<std::byte>(random());
  return secret;
}

std::string mutated(std::string bytes, std::mt19937_64& random) {
  const auto any = [&] { return static_cast<char>(random()); };
  switch (random() % 5) {
    case 0: bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8); break;
    case 1:
      for (int k = 0; k < 8; ++k) bytes[random() % bytes.size()] = any();
      break;
    case 2: bytes.resize(1 + random() % bytes.size()); break;
    case 3:
      bytes.resize(1 + random() % 200);
      for (char& byte : bytes) byte = any();
      break;
    default: bytes += bytes; bytes[random() % bytes.size()] = any();
  }
  return bytes;
}

void try_addresses(const std::string& where, long count, std::mt19937_64& random) {
  long refused = 0, answered = 0, silent = 0;
  for (long i = 0; i < count; ++i) {
    Member member(where, secret_of(random));
    const UcxAddress own = member.address();
    const std::string bytes = mutated(own.bytes, random);
    member.tell(make_ucx_address(own.version, std::as_bytes(std::span(bytes))));
    member.say_hello(std::make_shared<const std::vector<std::byte>>());
    if (member.hello_answered(300ms))
      ++answered;
    else
      ++(member.end(2s) == "nothing" ? silent : refused);
  }
  std::printf("%ld addresses: %ld refused, %ld lead nowhere, %ld right still\n", count, refused,
              silent, answered);
}

int run(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string where = argv[1];
  const std::string_view mode = argv[2];
  const long count = std::atol(argv[3]);
  std::mt19937_64 random(argc > 4 ? std::strtoull(argv[4], nullptr, 0) : 1);
  if (mode == "addresses") {
    try_addresses(where, count, random);
    return 0;
  }
  Member member(where, secret_of(random));
  member.tell(member.address());
  if (mode == "hello") {
    member.say_hello(
        std::make_shared<const std::vector<std::byte>>(static_cast<std::size_t>(count) << 20));
    std::printf("a hello of %ld MiB: %s\n", count,
                member.hello_answered(3s) ? "answered" : member.end(1s).c_str());
    return 0;
  }
  member.say_hello(std::make_shared<const std::vector<std::byte>>());
  if (!member.hello_answered(10s) || !member.open()) return 1;
  member.flood(count);
  std::printf("flood of %ld: %s\n", count, member.end(10s).c_str());
  return 0;
}

}  // namespace
}  // namespace cohom::offload

int main(int argc, char** argv) {
  try {
    return cohom::offload::run(argc, argv);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
