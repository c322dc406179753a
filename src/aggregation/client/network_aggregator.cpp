#include "aggregation/client/network_aggregator.hpp"

#include "aggregation/client/session.hpp"
#include "aggregation/protocol/merge_code.hpp"
#include "aggregation/protocol/narrow.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <utility>

namespace cohom::offload {

namespace {

bool promotes(const Session& session, const Promotion& promotion) {
  return session.admitted.takes_narrow != 0 &&
         8 * wide_block_words(promotion) <= session.admitted.payload_bytes;
}

/// Without a session, and poll() says so.
class NetworkReduction final : public Reduction {
 public:
  NetworkReduction(std::shared_ptr<Session> session, std::shared_ptr<SessionKeeper> keeper,
                   std::uint64_t call, int round, std::size_t reductions)
      : session_(std::move(session)), keeper_(std::move(keeper)) {
    reductions_.call = call;
    reductions_.round = static_cast<std::uint32_t>(round);
    reductions_.announced = reductions;
    if (session_) session_->path->enter(reductions_);
  }

  /// Others may be waiting for what will not come: then it is the session that ends.
  ~NetworkReduction() override {
    if (!session_) return;
    const bool halfway = reductions_.completed != reductions_.started ||
                         (reductions_.started != 0 && reductions_.started != reductions_.announced);
    if (halfway) keeper_->abandon("a call was given up");
    session_->path->leave(reductions_);
  }
  NetworkReduction(const NetworkReduction&) = delete;
  NetworkReduction& operator=(const NetworkReduction&) = delete;

  void start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum, Merge merge,
             std::uint64_t cookie) override {
    if (reductions_.started == reductions_.announced)
      throw Error(ErrorKind::state, "more reductions were started than announced");
    reductions_.start(contribution, sum, code_of(merge), cookie);
    if (session_) session_->progress();
  }

  void start_narrow(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum,
                    Merge merge, const Promotion& promotion, std::uint64_t cookie) override {
    if (reductions_.started == reductions_.announced)
      throw Error(ErrorKind::state, "more reductions were started than announced");
    // It was another session that took them so.
    if (session_ && !promotes(*session_, promotion))
      session_->end("it takes no narrow contributions");
    reductions_.start(contribution, sum, code_of(merge), cookie, &promotion);
    if (session_) session_->progress();
  }

  std::size_t poll(std::span<Completion> out) override {
    if (session_) session_->progress();
    auto& done = reductions_.completions;
    const std::size_t count = std::min(out.size(), done.size());
    std::copy_n(done.begin(), count, out.begin());
    done.erase(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(count));
    if (count == 0 && reductions_.completed != reductions_.started) fail_if_over();
    return count;
  }

 private:
  static std::uint8_t code_of(Merge merge) {
    if (const auto code = merge_code(merge)) return *code;
    throw Error(ErrorKind::unsupported,
                "an aggregator in the network cannot merge by " + to_string(merge));
  }

  void fail_if_over() {
    if (!session_) throw Error(ErrorKind::transport, "no aggregator: " + keeper_->why_none());
    if (!session_->over()) return;
    const std::string reason = session_->reason();
    keeper_->abandon(reason);
    session_->path->leave(reductions_);
    session_.reset();
    throw Error(ErrorKind::transport, "the aggregator: " + reason);
  }

  std::shared_ptr<Session> session_;
  std::shared_ptr<SessionKeeper> keeper_;
  ReductionSequence reductions_;
};

}  // namespace

NetworkAggregator::NetworkAggregator(const Endpoint& address, const GroupMembership& membership,
                                     const ClientOptions& options)
    : keeper_(std::make_shared<SessionKeeper>(address, membership, options)),
      name_("at " + address.text()) {}

std::string_view NetworkAggregator::name() const {
  return session_ ? std::string_view(session_->admitted.kind) : name_;
}

bool NetworkAggregator::supports(Merge merge) const {
  const bool everywhere = merge.kind == MergeKind::add || merge.kind == MergeKind::bit_or ||
                          merge.kind == MergeKind::max;
  if (everywhere || !session_ || !merge_code(merge)) return everywhere;
  return (session_->admitted.merges >> int(merge.kind) & 1) != 0;
}

bool NetworkAggregator::takes_narrow(const Promotion& promotion) const {
  return session_ && promotes(*session_, promotion);
}

bool NetworkAggregator::ready() {
  auto session = keeper_->session();
  if (!session) return false;
  session_ = std::move(session);
  return true;
}

std::unique_ptr<Reduction> NetworkAggregator::open(std::uint64_t call, int round,
                                                   std::size_t reductions) {
  return std::make_unique<NetworkReduction>(session_, keeper_, call, round, reductions);
}

PathCounters NetworkAggregator::counters() const {
  return session_ ? session_->path->counters() : PathCounters{};
}

std::shared_ptr<Aggregator> connect_aggregator(const Endpoint& address,
                                               const GroupMembership& membership,
                                               const ClientOptions& options) {
  return std::make_shared<NetworkAggregator>(address, membership, options);
}

}  // namespace cohom::offload
