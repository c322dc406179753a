#pragma once
// PacketFaults: what networks do to packets, on purpose and by seed, for tests.

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace cohom::offload {

class PacketFaults {
 public:
  PacketFaults(double lose, double repeat, double reorder, std::uint64_t seed)
      : lose_(lose), repeat_(repeat), reorder_(reorder), random_(seed) {}

  /// In which order packets 0 .. count - 1 leave: some never, some twice, some later than they should.
  const std::vector<std::size_t>& order(std::size_t count) {
    order_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (happens(lose_)) continue;
      order_.push_back(i);
      if (happens(repeat_)) order_.push_back(i);
    }
    for (std::size_t i = 0; i < order_.size(); ++i)
      if (happens(reorder_)) std::swap(order_[i], order_[random_() % order_.size()]);
    return order_;
  }

 private:
  bool happens(double share) {
    return share > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < share;
  }

  double lose_, repeat_, reorder_;
  std::mt19937_64 random_;
  std::vector<std::size_t> order_;
};

}  // namespace cohom::offload
