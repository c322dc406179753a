#include "codecs/lowrank/lowrank_rows.hpp"

#include "kernels/core/body/element.hpp"
#include "kernels/core/body/float_bits.hpp"

#include <algorithm>
#include <type_traits>

namespace cohom {
namespace {

namespace body = kernels::body;

/// Largest exponents that need no care: a row's norm is up to 2^8 times its largest element, and
/// sums and rests of rows stay far from the largest number.
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

/// What a call sums: elements, or those and what earlier calls left.
template <class T>
struct Elements {
  using Real = body::Arithmetic<T>;
  const void* input;
  const std::byte* left;  ///< null: no feedback

  Elements(const CallBuffers& call, std::size_t first)
      : input(call.input_at(first)), left(call.feedback_at(first)) {}
  template <class Visit>
  void for_each(std::size_t count, Visit visit) const {
    if (left == nullptr)
      for (std::size_t i = 0; i < count; ++i) visit(i, Real{body::load_element<T>(input, i)});
    else
      for (std::size_t i = 0; i < count; ++i)
        visit(i, body::load_element<T>(input, i) + body::load_raw<Real>(left, i));
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
    typename body::FloatFormat<Real>::Bits largest = 0;
    Elements<T>(call_, piece.first).for_each(piece.count, [&](std::size_t, Real value) {
      largest = std::max(largest, body::magnitude_bits(value));
    });
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
    Elements<T>(call_, first).for_each(count, [&](std::size_t i, Real value) {
      const Real scaled = factor.times(value);
      if constexpr (std::is_same_v<Real, double>) row_of_f64_[i] = scaled;
      row_[i] = static_cast<float>(scaled);
    });
  });
  std::fill(row_.begin() + static_cast<std::ptrdiff_t>(count), row_.end(), 0.F);
  return row_;
}

void LowrankRows::feed_back(std::span<const float> sent) {
  std::byte* const left = call_.feedback_at(read_.first);
  const auto keep = [&]<class Real>(const std::vector<Real>& row) {
    const PowerOfTwo<Real> factor(read_.exponent);
    for (std::size_t i = 0; i < read_.count; ++i)
      body::store_raw<Real>(left, i, factor.times(row[i] - Real{sent[i]}));
  };
  if (type_ == ElementType::f64)
    keep(row_of_f64_);
  else
    keep(row_);
}

void LowrankRows::write(std::size_t first, std::size_t count, std::span<const float> values,
                        int exponent) {
  void* const output = call_.output_at(first);
  body::with_element_type(type_, [&]<class T>(T) {
    using Real = body::Arithmetic<T>;
    const PowerOfTwo<Real> factor(exponent);
    const auto divisor = static_cast<Real>(divisor_);
    for (std::size_t i = 0; i < count; ++i)
      body::store_element<T>(output, i, factor.times(Real{values[i]}) / divisor);
  });
}

void LowrankRows::feed_back_all(const Piece& piece) {
  if (!feeds_back()) return;
  std::byte* const left = call_.feedback_at(piece.first);
  body::with_element_type(type_, [&]<class T>(T) {
    using Real = body::Arithmetic<T>;
    Elements<T>(call_, piece.first).for_each(piece.count, [&](std::size_t i, Real value) {
      body::store_raw<Real>(left, i, value);
    });
  });
}

}  // namespace cohom
