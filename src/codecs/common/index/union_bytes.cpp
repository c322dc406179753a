#include "codecs/common/index/union_bytes.hpp"

#include "codecs/common/codec_bytes.hpp"

#include <cmath>
#include <numbers>
#include <string>

namespace cohom {
namespace {

/// The filter has 1 / ln 2 bits a probe and value of each rank. Half of them are set where no two
/// ranks have a value in common, else fewer.
UnionBytes bloom_bytes(const Parameters& parameters, const UnionShape& shape) {
  const auto elements = static_cast<double>(shape.elements);
  const double wanted = fraction_of(text_of(parameters, "false_positives", "1/1024"));
  const double probes = std::ceil(-std::log2(wanted));
  const double bits = static_cast<double>(shape.contributed) * probes / std::numbers::ln2;
  const auto values = static_cast<double>(shape.values);
  if (bits >= elements) return {.index = 1.0 / 8, .values = values / elements};
  const double set = bits == 0 ? 0 : 1 - std::exp(-probes * values / bits);
  const double ghosts = std::pow(set, probes) * (elements - values);
  return {.index = bits / elements / 8, .values = (values + ghosts) / elements};
}

}  // namespace

/// Of a two-level index the upper level, two bits a block of 512, is small and goes as agreement
/// does.
UnionBytes union_bytes(const Parameters& parameters, const UnionShape& shape) {
  const std::string form = text_of(parameters, "index", "two-level");
  if (form == "bloom") return bloom_bytes(parameters, shape);
  const auto elements = static_cast<double>(shape.elements);
  if (form == "flat")
    return {.index = 1.0 / 8, .values = static_cast<double>(shape.values) / elements};
  return {.index = static_cast<double>(shape.mixed) / elements / 8,
          .values = static_cast<double>(shape.values + shape.zeros_of_full) / elements,
          .agreement = ((shape.elements + 511) / 512 + 31) / 32 * 8};
}

}  // namespace cohom
