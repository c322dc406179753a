#include "codecs/lowrank/lowrank_products.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace cohom {
namespace {

/// Of a vector's energy. Less is left by the rounding of sums of f32.
constexpr double least_energy = 1e-10;

/// GCC and Clang make them of what the processor has.
using Lanes [[gnu::vector_size(lowrank_lanes * sizeof(float))]] = float;

template <class Real, std::size_t Lanes>
Real sum_of(std::array<Real, Lanes> lanes) {
  for (std::size_t half = Lanes / 2; half != 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

double dot_in_f64(const double* a, const double* b, std::size_t length) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= length; i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (; i < length; ++i) sums[i % lanes] += a[i] * b[i];
  return sum_of(sums);
}

}  // namespace

float dot(std::span<const float> a, std::span<const float> b) {
  Lanes sums{};
  for (std::size_t i = 0; i < a.size(); i += lowrank_lanes) {
    Lanes products, others;
    std::memcpy(&products, &a[i], sizeof products);
    std::memcpy(&others, &b[i], sizeof others);
    products *= others;
    sums += products;
  }
  std::array<float, lowrank_lanes> lanes;
  std::memcpy(lanes.data(), &sums, sizeof sums);
  return sum_of(lanes);
}

void add_multiple(float factor, std::span<const float> from, std::span<float> to) {
  for (std::size_t i = 0; i < from.size(); i += lowrank_lanes) {
    Lanes products, sums;
    std::memcpy(&products, &from[i], sizeof products);
    std::memcpy(&sums, &to[i], sizeof sums);
    products *= factor;
    sums += products;
    std::memcpy(&to[i], &sums, sizeof sums);
  }
}

void orthonormalise(std::span<float> vectors, std::size_t length, std::span<double> scratch) {
  std::ranges::copy(vectors, scratch.begin());
  double* const first = scratch.data();
  for (double* vector = first; vector != first + vectors.size(); vector += length) {
    const double energy = dot_in_f64(vector, vector, length);
    for (int pass = 0; pass < 2; ++pass)
      for (const double* before = first; before != vector; before += length) {
        const double part = dot_in_f64(before, vector, length);
        for (std::size_t i = 0; i < length; ++i) vector[i] -= part * before[i];
      }
    const double left = dot_in_f64(vector, vector, length);
    // Of a NaN, which only a peer can have sent, a NaN is left for all to see.
    const double factor = left <= least_energy * energy ? 0 : 1 / std::sqrt(left);
    for (std::size_t i = 0; i < length; ++i) vector[i] *= factor;
  }
  for (std::size_t i = 0; i < vectors.size(); ++i) vectors[i] = static_cast<float>(first[i]);
}

}  // namespace cohom
