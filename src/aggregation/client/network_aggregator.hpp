#pragma once
// NetworkAggregator: an aggregator in the network, by packets or messages
// (docs/offload-protocol.md).

#include "aggregation/client/control_client.hpp"
#include "aggregation/client/data_path.hpp"
#include "aggregation/client/session_keeper.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace cohom::offload {

class NetworkAggregator final : public Aggregator {
 public:
  NetworkAggregator(const Endpoint& address, const GroupMembership& membership,
                    const ClientOptions& options);

  [[nodiscard]] std::string_view name() const override;
  [[nodiscard]] bool supports(Merge merge) const override;
  [[nodiscard]] std::size_t max_words() const override { return 0xffffffff; }
  [[nodiscard]] bool takes_narrow(const Promotion& promotion) const override;
  [[nodiscard]] bool ready() override;
  [[nodiscard]] std::string why_not_ready() const override { return keeper_->why_none(); }
  [[nodiscard]] bool waits_for_others() const override { return keeper_->waits_for_others(); }
  [[nodiscard]] bool may_fail() const override { return true; }
  std::unique_ptr<Reduction> open(std::uint64_t call, int round, std::size_t reductions) override;

  /// Of the session there is; zeros without one.
  [[nodiscard]] PathCounters counters() const;

 private:
  std::shared_ptr<SessionKeeper> keeper_;
  std::string name_;
  std::shared_ptr<Session> session_;  ///< the last there was; null before the first
};

}  // namespace cohom::offload
