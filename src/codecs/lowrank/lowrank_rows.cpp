#include "codecs/lowrank/lowrank_rows.hpp"

#include "codecs/lowrank/lowrank_products.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/core/body/float_bits.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace cohom {
namespace {

namespace body = kernels::body;

/// Largest exponents that need no care: a row's norm is up to 2^8 times its largest element, so
/// sums of up to 2^7 ranks stay below the largest number.
template <class Real>
constexpr int largest_exponent = body::FloatFormat<Real>::bias - 16;

/// A power of two, as two factors that are numbers of any Real.
template <class Real>
struct PowerOfTwo {
  Real one, other;

  explicit PowerOfTwo(int exponent)
      : one(body::power_of_two<Real>(exponent / 2)),
        other(body::power_of_two<Real>(exponent - exponent / 2)) {}
  Real times(Real value) const { return value * one * other; }
};

/// So many at a time, for vector instructions.
template <class Real>
using Block = std::array<Real, lowrank_lanes>;

/// What a call sums: elements, or those and what earlier calls left.
template <class T>
struct Elements {
  using Real = body::Arithmetic<T>;
  const void* input;
  const std::byte* left;  ///< null: no feedback

  Elements(const CallBuffers& call, std::size_t first)
      : input(call.input_at(first)), left(call.feedback_at(first)) {}
  /// Calls visit(first, values, count): of the last block, which zeros fill up, count are elements.
  template <class Visit>
  void for_each_block(std::size_t elements, Visit visit) const {
    for (std::size_t i = 0; i < elements; i += lowrank_lanes) {
      Block<Real> values{};
      const std::size_t count = std::min(lowrank_lanes, elements - i);
      if (count == lowrank_lanes)
        read(i, lowrank_lanes, values);
      else
        read(i, count, values);
      visit(i, values, count);
    }
  }

 private:
  void read(std::size_t first, std::size_t count, Block<Real>& values) const {
    for (std::size_t i = 0; i < count; ++i) values[i] = body::load_element<T>(input, first + i);
    if (left == nullptr) return;
    for (std::size_t i = 0; i < count; ++i) values[i] += body::load_raw<Real>(left, first + i);
  }
};

}  // namespace

LowrankRows::LowrankRows(const CodecContext& context, const LowrankShape& shape,
                         const CallBuffers& call)
    : type_(context.type),
      divisor_(context.divisor),
      call_(call),
      row_(shape.columns),
      scratch_(shape.columns),
      row_of_f64_(context.type == ElementType::f64 ? shape.columns : 0) {}

std::uint32_t LowrankRows::code_of(const Piece& piece) const {
  return body::with_element_type(type_, [&]<class T>(T) -> std::uint32_t {
    using Real = body::Arithmetic<T>;
    using Bits = typename body::FloatFormat<Real>::Bits;
    Block<Bits> most{};
    Elements<T>(call_, piece.first)
        .for_each_block(piece.count, [&](std::size_t, const Block<Real>& values, std::size_t) {
          for (std::size_t i = 0; i < values.size(); ++i)
            most[i] = std::max(most[i], body::magnitude_bits(values[i]));
        });
    const Bits largest = *std::ranges::max_element(most);
    if (largest == 0) return 0;
    if (largest >= body::FloatFormat<Real>::infinity) return LowrankCode::outlier;
    const int exponent = body::floor_log2<Real>(largest);
    if (exponent > largest_exponent<Real>) return LowrankCode::outlier;
    return static_cast<std::uint32_t>(exponent + LowrankCode::offset);
  });
}

std::span<const float> LowrankRows::read(std::size_t first, std::size_t count, int exponent) {
  read_ = {first, count, exponent};
  body::with_element_type(type_, [&]<class T>(T) {
    using Real = body::Arithmetic<T>;
    const PowerOfTwo<Real> factor(-exponent);
    Elements<T>(call_, first)
        .for_each_block(count, [&](std::size_t i, Block<Real>& values, std::size_t) {
          Block<float> row;
          for (Real& value : values) value = factor.times(value);
          for (std::size_t k = 0; k < row.size(); ++k) row[k] = static_cast<float>(values[k]);
          if constexpr (std::is_same_v<Real, double>)
            std::memcpy(&row_of_f64_[i], values.data(), sizeof values);
          std::memcpy(&row_[i], row.data(), sizeof row);
        });
  });
  const std::size_t end = (count + lowrank_lanes - 1) / lowrank_lanes * lowrank_lanes;
  std::fill(row_.begin() + static_cast<std::ptrdiff_t>(end), row_.end(), 0.F);
  return row_;
}

void LowrankRows::feed_back(std::span<const float> sent) {
  std::byte* const left = call_.feedback_at(read_.first);
  const auto keep = [&]<class Real>(const std::vector<Real>& row) {
    const PowerOfTwo<Real> factor(read_.exponent);
    for (std::size_t i = 0; i < read_.count; i += lowrank_lanes) {
      Block<Real> rest;
      for (std::size_t k = 0; k < rest.size(); ++k) rest[k] = row[i + k] - Real{sent[i + k]};
      for (Real& value : rest) value = factor.times(value);
      std::memcpy(left + i * sizeof(Real), rest.data(),
                  std::min(lowrank_lanes, read_.count - i) * sizeof(Real));
    }
  };
  if (type_ == ElementType::f64)
    keep(row_of_f64_);
  else
    keep(row_);
}

void LowrankRows::write(std::size_t first, std::size_t count, std::span<const float> values,
                        int exponent) {
  std::byte* const output = call_.output_at(first);
  body::with_element_type(type_, [&]<class T>(T) {
    using Real = body::Arithmetic<T>;
    const PowerOfTwo<Real> factor(exponent);
    const auto divisor = static_cast<Real>(divisor_);
    for (std::size_t i = 0; i < count; i += lowrank_lanes) {
      Block<T> elements;
      for (std::size_t k = 0; k < elements.size(); ++k)
        elements[k] = body::from_arithmetic<T>(factor.times(Real{values[i + k]}) / divisor);
      std::memcpy(output + i * sizeof(T), elements.data(),
                  std::min(lowrank_lanes, count - i) * sizeof(T));
    }
  });
}

void LowrankRows::feed_back_all(const Piece& piece) {
  if (!feeds_back()) return;
  std::byte* const left = call_.feedback_at(piece.first);
  body::with_element_type(type_, [&]<class T>(T) {
    using Real = body::Arithmetic<T>;
    Elements<T>(call_, piece.first)
        .for_each_block(piece.count,
                        [&](std::size_t i, const Block<Real>& values, std::size_t count) {
                          std::memcpy(left + i * sizeof(Real), values.data(), count * sizeof(Real));
                        });
  });
}

}  // namespace cohom
