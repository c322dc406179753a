#pragma once
// Vectors with every kind of block that a codec treats specially among normal ones.

#include "elements.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace cohom::test {

/// Makes some blocks zeros, -0.0, huge, tiny, denormal or constant, or gives them a spike, a NaN or
/// an infinity; each is 256 elements long, so that larger blocks mix them.
inline void make_nasty(std::span<double> values, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  for (std::size_t first = 0; first < values.size(); first += 256) {
    const auto part = values.subspan(first, std::min<std::size_t>(256, values.size() - first));
    const auto scale = [&](double by) {
      for (double& value : part) value *= by;
    };
    double& one = part[engine() % part.size()];
    switch (engine() % 16) {
      case 0: scale(0); break;
      case 1: std::ranges::fill(part, -0.0); break;
      case 2: scale(1e30); break;
      case 3: scale(1e-30); break;
      case 4: scale(1e-40); break;  // denormal in f32
      case 5: scale(3e-45); break;
      case 6: scale(1e-6); break;  // denormal in f16
      case 7: scale(1e-300); break;
      case 8: scale(1e300); break;
      case 9: one = 1e4; break;
      case 10: one = std::numeric_limits<double>::quiet_NaN(); break;
      case 11: one = -std::numeric_limits<double>::infinity(); break;
      case 12: std::ranges::fill(part, 0.5); break;
      default: break;
    }
  }
}

/// Normal values with blocks of all these kinds among them.
inline std::vector<double> nasty_values(std::size_t count, std::uint64_t seed) {
  std::vector<double> values = normal_values(count, seed);
  make_nasty(values, seed);
  return values;
}

}  // namespace cohom::test
