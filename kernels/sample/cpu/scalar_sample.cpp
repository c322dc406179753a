#include "kernels/sample/cpu/sample_rows.hpp"

#include "kernels/sample/cpu/sample_blocks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace cohom::kernels {
namespace {

/// The number that gives 1 when it is multiplied by `number` modulo `ranks`, by Euclid's algorithm:
/// O(log ranks). None where the two have a common divisor. Modulo 1 all is 0.
std::optional<std::uint32_t> inverse_of(std::uint32_t number, std::uint32_t ranks) {
  // factor * number = divisor modulo ranks, in both rows.
  std::int64_t divisor = ranks, rest = number;
  std::int64_t factor = 0, rest_factor = 1;
  while (rest != 0) {
    const std::int64_t quotient = divisor / rest;
    divisor = std::exchange(rest, divisor - quotient * rest);
    factor = std::exchange(rest_factor, factor - quotient * rest_factor);
  }
  if (divisor != 1) return std::nullopt;
  return static_cast<std::uint32_t>(factor < 0 ? factor + ranks : factor);
}

void draw_permutations(std::uint32_t frame, std::size_t groups, std::uint32_t all,
                       Permutations& numbers) {
  for (std::uint32_t g = 0; g < groups; ++g)
    numbers[g] = static_cast<std::uint32_t>(std::uint64_t{body::draw(frame, g)} * all >> 32);
}

/// For every permutation and set of ranks among eight that have a plus: the bits of a group.
std::vector<std::uint16_t> make_places(const SampleFormat& format) {
  const std::size_t halves = (format.ranks + 7) / 8;
  std::vector<std::uint16_t> places;
  for (std::uint32_t number = 0; number < permutations_of(format); ++number)
    for (std::uint32_t half = 0; half < halves; ++half) {
      std::array<std::uint16_t, 8> bits{};  // by rank of the half
      for (std::uint32_t rank = 8 * half; rank < std::min(format.ranks, 8 * half + 8); ++rank)
        bits[rank % 8] = static_cast<std::uint16_t>(1u << position_of(format, number, rank));
      const std::size_t first = places.size();
      places.push_back(0);
      for (std::uint32_t plus = 1; plus < 256; ++plus) {
        const std::size_t others = plus & (plus - 1);
        places.push_back(places[first + others] | bits[std::size_t(std::countr_zero(plus))]);
      }
    }
  return places;
}

}  // namespace

std::uint32_t position_of(const SampleFormat& format, std::uint32_t number, std::uint32_t rank) {
  const auto units = static_cast<std::uint32_t>(format.units.size());
  const std::uint64_t distance = (rank + format.ranks - number / units) % format.ranks;
  return static_cast<std::uint32_t>(distance * format.inverses[number % units] % format.ranks);
}

SampleFormat make_sample_format(std::uint32_t rank, std::uint32_t ranks) {
  SampleFormat format;
  format.ranks = ranks;
  format.rank = rank;
  for (std::uint32_t a = 0; a < ranks; ++a) {
    const std::optional<std::uint32_t> inverse = inverse_of(a, ranks);
    if (!inverse) continue;
    format.units.push_back(a);
    format.inverses.push_back(*inverse);
  }
  if (ranks > sample_table_ranks) return format;
  for (std::uint32_t number = 0; number < permutations_of(format); ++number)
    format.positions.push_back(static_cast<std::uint8_t>(position_of(format, number, rank)));
  format.places = make_places(format);
  return format;
}

SampleKernels scalar_sample() { return sample_row<draw_permutations>(); }

}  // namespace cohom::kernels
