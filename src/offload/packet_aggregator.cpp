#include "offload/packet_aggregator.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <utility>

namespace cohom::offload {

namespace {

/// Without an engine: there was no session, and poll() says so.
class PacketReduction final : public Reduction {
 public:
  PacketReduction(std::shared_ptr<SlotEngine> engine, std::shared_ptr<SessionKeeper> keeper,
                  std::uint64_t call, int round, std::size_t reductions)
      : engine_(std::move(engine)), keeper_(std::move(keeper)) {
    stream_.call = call;
    stream_.round = static_cast<std::uint32_t>(round);
    stream_.announced = reductions;
    if (engine_) engine_->enter(stream_);
  }

  /// Others may be waiting for what will not come: then it is the session that ends.
  ~PacketReduction() override {
    if (!engine_) return;
    const bool halfway = stream_.finished != stream_.started ||
                         (stream_.started != 0 && stream_.started != stream_.announced);
    if (halfway) keeper_->abandon("a call was given up");
    engine_->leave(stream_);
  }
  PacketReduction(const PacketReduction&) = delete;
  PacketReduction& operator=(const PacketReduction&) = delete;

  void start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum, Merge merge,
             std::uint64_t cookie) override {
    if (stream_.started == stream_.announced)
      throw Error(ErrorKind::state, "more reductions were started than announced");
    stream_.start(contribution, sum, packet_merge(merge), cookie);
    if (engine_) engine_->progress();
  }

  std::size_t poll(std::span<Completion> out) override {
    if (engine_) engine_->progress();
    auto& done = stream_.completions;
    const std::size_t count = std::min(out.size(), done.size());
    std::copy_n(done.begin(), count, out.begin());
    done.erase(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(count));
    if (count == 0 && stream_.finished != stream_.started) fail_if_over();
    return count;
  }

 private:
  static cohom_packet_merge packet_merge(Merge merge) {
    switch (merge.kind) {
      case MergeKind::add: return cohom_merge_add;
      case MergeKind::bit_or: return cohom_merge_or;
      case MergeKind::max: return cohom_merge_max;
      case MergeKind::add_packed:
      case MergeKind::add_float: break;
    }
    throw Error(ErrorKind::unsupported,
                "an aggregator of packets cannot merge by " + std::string(name_of(merge.kind)));
  }

  void fail_if_over() {
    if (!engine_) throw Error(ErrorKind::transport, "no aggregator: " + keeper_->why_none());
    if (!engine_->session().over()) return;
    const std::string reason = engine_->session().reason();
    keeper_->abandon(reason);
    engine_->leave(stream_);
    engine_.reset();
    throw Error(ErrorKind::transport, "the aggregator: " + reason);
  }

  std::shared_ptr<SlotEngine> engine_;
  std::shared_ptr<SessionKeeper> keeper_;
  ReductionStream stream_;
};

}  // namespace

PacketAggregator::PacketAggregator(const Endpoint& address, const GroupMembership& membership,
                                   const ClientOptions& options)
    : membership_(membership),
      options_(options),
      keeper_(std::make_shared<SessionKeeper>(address, membership, options)) {}

bool PacketAggregator::supports(Merge merge) const {
  return merge.kind == MergeKind::add || merge.kind == MergeKind::bit_or ||
         merge.kind == MergeKind::max;
}

bool PacketAggregator::ready() {
  auto session = keeper_->session();
  if (!session) return false;
  if (!engine_ || &engine_->session() != session.get())
    engine_ = std::make_shared<SlotEngine>(std::move(session), membership_, options_);
  return true;
}

std::unique_ptr<Reduction> PacketAggregator::open(std::uint64_t call, int round,
                                                  std::size_t reductions) {
  return std::make_unique<PacketReduction>(engine_, keeper_, call, round, reductions);
}

PacketCounters PacketAggregator::counters() const {
  return engine_ ? engine_->counters() : PacketCounters{};
}

std::shared_ptr<Aggregator> connect_aggregator(const Endpoint& address,
                                               const GroupMembership& membership,
                                               const ClientOptions& options) {
  return std::make_shared<PacketAggregator>(address, membership, options);
}

}  // namespace cohom::offload
