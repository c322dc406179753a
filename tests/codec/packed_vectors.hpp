#pragma once
// What the tests of packed share: vectors of several shapes, and a harness for them.

#include "codecs/packed/packed.hpp"

#include "codec_harness.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace cohom::test {

using Vectors = std::vector<std::vector<double>>;

inline CodecHarness harness_of(int ranks, Parameters parameters,
                               ElementType type = ElementType::f32) {
  return CodecHarness({.make = make_packed,
                       .ranks = ranks,
                       .type = type,
                       .parameters = std::move(parameters),
                       .segment = 16384});
}

/// Bits a value of the ranks' contributions.
inline std::vector<double> bits_of_ranks(const CodecHarness& harness, int ranks,
                                         std::size_t count) {
  std::vector<double> bits;
  for (int rank = 0; rank < ranks; ++rank)
    bits.push_back(64.0 *
                   double(harness.contribution(harness.codec(0).payload_round(), rank).size()) /
                   double(count));
  return bits;
}

inline double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / double(values.size());
}

enum class Shape { normal, lognormal_scales, heavy_tails, mostly_zero };

inline Vectors vectors_of(Shape shape, int ranks, std::size_t count) {
  Vectors vectors;
  for (int rank = 0; rank < ranks; ++rank) {
    std::mt19937_64 engine(std::uint64_t(rank) * 7 + std::uint64_t(shape));
    std::normal_distribution<double> normal;
    std::vector<double> values(count);
    double scale = 1 + rank % 2;  // ranks differ
    for (std::size_t i = 0; i < count; ++i) {
      if (shape == Shape::lognormal_scales && i % 96 == 0) scale = std::exp(2 * normal(engine));
      values[i] = scale * normal(engine);
      if (shape == Shape::heavy_tails) values[i] = std::pow(values[i], 3);
      if (shape == Shape::mostly_zero && (i / 320) % 4 != 0) values[i] = 0;
    }
    vectors.push_back(std::move(values));
  }
  return vectors;
}

}  // namespace cohom::test
