#pragma once
// CounterRandom: random numbers as a pure function of (seed, rank, stream, counter).
//
// Any element of a synthetic vector can be made without those before it, on any machine, by any
// number of ranks. SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) started at a hashed key.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

namespace cohom::bench {

class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t rank, std::uint64_t stream)
      : key_(mix(mix(mix(seed + golden) + rank) + stream)) {}

  [[nodiscard]] std::uint64_t bits(std::uint64_t counter) const {
    return mix(key_ + counter * golden);
  }

  /// In (0, 1].
  [[nodiscard]] double uniform(std::uint64_t counter) const {
    return static_cast<double>((bits(counter) >> 11) + 1) * 0x1p-53;
  }

  /// N(0, 1) values 2 * pair and 2 * pair + 1 (Box and Muller, 1958).
  [[nodiscard]] std::pair<double, double> normal_pair(std::uint64_t pair) const {
    const double radius = std::sqrt(-2.0 * std::log(uniform(2 * pair)));
    const double angle = 2.0 * std::numbers::pi * uniform(2 * pair + 1);
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

  [[nodiscard]] double normal(std::uint64_t counter) const {
    const auto [even, odd] = normal_pair(counter / 2);
    return counter % 2 == 0 ? even : odd;
  }

  /// A random order of 0 ... count-1 (Fisher and Yates).
  [[nodiscard]] std::vector<std::uint32_t> permutation(std::size_t count) const {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[bits(i) % i]);
    return order;
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  std::uint64_t key_;
};

}  // namespace cohom::bench
