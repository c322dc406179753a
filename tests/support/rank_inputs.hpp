#pragma once
// RankInputs: one random vector a rank, and what their sum should be.

#include "elements.hpp"

#include <cohom/element_type.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace cohom::test {

/// Largest relative error of rounding to the type.
constexpr double unit_roundoff(ElementType type) {
  switch (type) {
    case ElementType::f64: return 0x1p-53;
    case ElementType::f32: return 0x1p-24;
    case ElementType::f16: return 0x1p-11;
    case ElementType::bf16: return 0x1p-8;
  }
  return 0;
}

class RankInputs {
 public:
  /// Standard normal values, rounded to the type. The seed makes failures repeatable.
  RankInputs(int ranks, ElementType type, std::size_t count, std::uint64_t seed = 1)
      : type_(type), count_(count), seed_(seed), sum_(count) {
    for (int rank = 0; rank < ranks; ++rank) {
      bytes_.push_back(to_bytes(type, normal_values(count, seed * 1000 + std::uint64_t(rank))));
      const auto values = to_values(type, bytes_.back());
      for (std::size_t i = 0; i < count; ++i) sum_[i] += values[i];
      largest_energy_ = std::max(
          largest_energy_, std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
    }
  }

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(bytes_.size()); }
  [[nodiscard]] const Bytes& bytes(int rank) const { return bytes_[std::size_t(rank)]; }
  /// To spoil a vector with special values; sum() and error_of() do not follow.
  [[nodiscard]] Bytes& mutable_bytes(int rank) { return bytes_[std::size_t(rank)]; }
  /// The float64 sum of the ranks' vectors.
  [[nodiscard]] const std::vector<double>& sum() const { return sum_; }
  [[nodiscard]] std::string name() const {
    return std::to_string(ranks()) + " ranks " + std::string(name_of(type_)) + " count " +
           std::to_string(count_) + " seed " + std::to_string(seed_);
  }

  /// Squared error of a result, relative to ranks * (largest energy of a rank's vector): what
  /// quantising on one scale for all ranks does not depend on. What rounding sums to the type must
  /// cost (one rounding a rank) is left out.
  [[nodiscard]] double error_of(std::span<const std::byte> result) const {
    const auto values = to_values(type_, result);
    double error = 0;
    for (std::size_t i = 0; i < count_; ++i) error += (values[i] - sum_[i]) * (values[i] - sum_[i]);
    const double roundings = ranks() * unit_roundoff(type_);
    return count_ == 0 ? 0 : error / (ranks() * largest_energy_) - roundings * roundings;
  }
  /// Errors of a few elements scatter more than those of many.
  [[nodiscard]] double slack() const { return count_ < 16 ? 10 : count_ < 1000 ? 1.5 : 1; }

 private:
  ElementType type_;
  std::size_t count_;
  std::uint64_t seed_;
  std::vector<double> sum_;
  std::vector<Bytes> bytes_;
  double largest_energy_ = 0;
};

}  // namespace cohom::test
