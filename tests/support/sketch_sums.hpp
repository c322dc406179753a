#pragma once
// What tests of sketch share: sparse vectors with exact sums, and the codec without a transport.

#include "codec_harness.hpp"
#include "codecs/sketch/sketch.hpp"
#include "sparse_vectors.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom::test {

using Vectors = std::vector<std::vector<double>>;  // by rank

inline CodecHarness sketch_harness(int ranks, const Parameters& parameters = {},
                                   ElementType type = ElementType::f32, bool in_place = false) {
  return CodecHarness({.make = make_sketch,
                       .ranks = ranks,
                       .type = type,
                       .parameters = parameters,
                       .in_place = in_place,
                       .segment = 1 << 18});
}

/// Of f32 values whose exponents differ by less than 30, in f64, which adds them without rounding.
inline std::vector<double> exact_sum(const Vectors& vectors) {
  std::vector<double> sum(vectors[0].size());
  for (const auto& vector : vectors)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(float(vector[i]));
  for (double& value : sum) value = static_cast<double>(float(value));
  return sum;
}

inline Vectors sparse_vectors(int ranks, std::size_t count, double density) {
  Vectors vectors;
  for (int rank = 0; rank < ranks; ++rank)
    vectors.push_back(sparse_values(count, density, std::uint64_t(rank) + 1));
  // Far smaller than all others, but within reach.
  for (auto& vector : vectors)
    for (std::size_t i = 0; i < count; i += 97) vector[i] *= 0x1p-12;
  return vectors;
}

/// Words of the round in which travels what did not peel.
inline const std::vector<std::uint64_t>& unpeeled_of(const CodecHarness& harness) {
  return harness.sum(harness.codec(0).payload_round() + 2);
}

}  // namespace cohom::test
