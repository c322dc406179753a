#pragma once
// PacketFaults: what networks do to packets, on purpose and by seed, for tests.

#include "aggregation/client/control_client.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace cohom::offload {

class PacketFaults {
 public:
  /// Shares of packets.
  struct Rates {
    double lose = 0;     ///< never leave
    double repeat = 0;   ///< leave twice
    double reorder = 0;  ///< leave behind others
    std::uint64_t seed = 1;
  };
  explicit PacketFaults(const Rates& rates) : rates_(rates), random_(rates.seed) {}

  /// For ClientOptions; empty when nothing is to go wrong.
  static ClientOptions::PacketOrder with(const Rates& rates) {
    if (rates.lose <= 0 && rates.repeat <= 0 && rates.reorder <= 0) return {};
    return [faults = PacketFaults(rates)](std::size_t count) mutable -> const auto& {
      return faults.order(count);
    };
  }

  /// In which order packets 0 .. count - 1 leave: some never, some twice, some later than they
  /// should.
  const std::vector<std::size_t>& order(std::size_t count) {
    order_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (happens(rates_.lose)) continue;
      order_.push_back(i);
      if (happens(rates_.repeat)) order_.push_back(i);
    }
    for (std::size_t i = 0; i < order_.size(); ++i)
      if (happens(rates_.reorder)) std::swap(order_[i], order_[random_() % order_.size()]);
    return order_;
  }

 private:
  bool happens(double share) {
    return share > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < share;
  }

  Rates rates_;
  std::mt19937_64 random_;
  std::vector<std::size_t> order_;
};

}  // namespace cohom::offload
