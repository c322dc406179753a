#include "codecs/common/dither.hpp"

#include <numeric>
#include <string_view>

namespace cohom {

using kernels::Dither;

Dither read_dither(const ParameterReader& reader, bool error_feedback) {
  // In the order of enum Dither.
  constexpr std::string_view names[] = {"nearest", "independent", "correlated"};
  if (reader.given("dither")) return static_cast<Dither>(reader.choice("dither", names));
  return error_feedback ? Dither::nearest : Dither::correlated;
}

std::vector<std::uint8_t> correlated_offsets(std::uint32_t rank, std::uint32_t ranks) {
  if (ranks == 1) return {0};
  std::vector<std::uint8_t> offsets;
  for (std::uint64_t unit = 1; unit < ranks; ++unit)
    if (std::gcd(unit, std::uint64_t{ranks}) == 1)
      offsets.push_back(static_cast<std::uint8_t>(256 * (unit * rank % ranks) / ranks));
  return offsets;
}

}  // namespace cohom
