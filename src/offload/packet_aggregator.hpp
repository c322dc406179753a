#pragma once
// PacketAggregator: the aggregator that is reached by packets (docs/offload-protocol.md).

#include "offload/control_client.hpp"
#include "offload/session_keeper.hpp"
#include "offload/slot_engine.hpp"

#include <memory>
#include <string>

namespace cohom::offload {

class PacketAggregator final : public Aggregator {
 public:
  PacketAggregator(const Endpoint& address, const GroupMembership& membership,
                   const ClientOptions& options);

  [[nodiscard]] std::string_view name() const override { return "ebpf"; }
  [[nodiscard]] bool supports(Merge merge) const override;
  [[nodiscard]] std::size_t most_words() const override { return 0xffffffff; }
  [[nodiscard]] bool ready() override;
  [[nodiscard]] std::string why_not_ready() const override { return keeper_->why_none(); }
  [[nodiscard]] bool may_fail() const override { return true; }
  std::unique_ptr<Reduction> open(std::uint64_t call, int round, std::size_t reductions) override;

  /// Of the session there is; zeros without one.
  [[nodiscard]] PacketCounters counters() const;

 private:
  GroupMembership membership_;
  ClientOptions options_;
  std::shared_ptr<SessionKeeper> keeper_;
  std::shared_ptr<SlotEngine> engine_;  ///< null before the first session
};

}  // namespace cohom::offload
