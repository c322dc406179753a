// Elements to fields, eight at a time.

#if defined(COHOM_EXACT_ENCODE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_EXACT_ENCODE_INL_H
#undef COHOM_EXACT_ENCODE_INL_H
#else
#define COHOM_EXACT_ENCODE_INL_H
#endif

#include "kernels/core/body/float_bits.hpp"
#include "kernels/exact/body/exact_format.hpp"
#include "kernels/exact/body/exact_header.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/exact/cpu/exact_shape-inl.h"
#include "kernels/exact/cpu/exact_streams-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

/// Eight elements as integers of a mini-block's least bits. Of f64 one factor may be no normal
/// number.
template <class T>
class ExactScale {
 public:
  explicit ExactScale(const body::ExactMini& mini)
      : factor_(hn::Set(ExactF(), body::power_of_two<double>(first(mini)))),
        more_(hn::Set(ExactF(), body::power_of_two<double>(exponent(mini) - first(mini)))) {}

  HWY_INLINE ExactReal operator()(ExactReal element) const {
    const auto whole = hn::Mul(element, factor_);
    if constexpr (std::is_same_v<T, double>) return hn::Mul(whole, more_);
    return whole;
  }

 private:
  static int exponent(const body::ExactMini& mini) {
    return -(static_cast<int>(mini.low) + body::exact_unit<T>);
  }
  static int first(const body::ExactMini& mini) { return std::clamp(exponent(mini), -1000, 1000); }
  ExactReal factor_, more_;
};

/// A whole number of at most 61 bits.
HWY_INLINE ExactV to_long_integer(ExactReal whole) {
  const ExactF f;
  const auto high = hn::Floor(hn::Mul(whole, hn::Set(f, 0x1p-32)));
  const auto low = hn::Sub(whole, hn::Mul(high, hn::Set(f, 0x1p32)));
  return hn::Add(hn::ShiftLeft<32>(to_integer(high)), to_integer(low));
}

/// Puts eight elements of a mini-block.
template <class T>
HWY_INLINE void put_elements(const Eight<ExactReal>& wholes, const body::ExactMini& mini,
                             unsigned bits, StreamsWriter& out) {
  const ExactD d;
  if (mini.magnitude <= 50) {
    const auto bias = hn::Set(d, std::uint64_t{1} << mini.magnitude);
    const auto x = eight([&](std::size_t p) { return hn::Add(to_integer(wholes.part[p]), bias); });
    return out.put_long(x, bits);
  }
  if (mini.magnitude <= 61) {
    const auto bias = hn::Set(d, std::uint64_t{1} << mini.magnitude);
    const auto x =
        eight([&](std::size_t p) { return hn::Add(to_long_integer(wholes.part[p]), bias); });
    return out.put_long(x, bits);
  }
  const ExactF f;
  const auto down = hn::Set(f, body::power_of_two<double>(-static_cast<int>(exact_low_part)));
  const auto up = hn::Set(f, body::power_of_two<double>(static_cast<int>(exact_low_part)));
  const auto bias = hn::Set(d, std::uint64_t{1} << (mini.magnitude - exact_low_part));
  const auto high = eight([&](std::size_t p) { return hn::Floor(hn::Mul(wholes.part[p], down)); });
  out.put(eight([&](std::size_t p) {
            return to_integer(hn::Sub(wholes.part[p], hn::Mul(high.part[p], up)));
          }),
          exact_low_part);
  out.put(eight([&](std::size_t p) { return hn::Add(to_integer(high.part[p]), bias); }),
          bits - exact_low_part);
}

/// 1 where an element is -0.
HWY_INLINE Eight<ExactV> minus_zeros(const Eight<ExactReal>& elements) {
  const ExactD d;
  return eight([&](std::size_t p) {
    const auto is = hn::Eq(hn::BitCast(d, elements.part[p]), hn::Set(d, std::uint64_t{1} << 63));
    return hn::IfThenElseZero(is, hn::Set(d, std::uint64_t{1}));
  });
}

/// A whole group. Returns the words behind its own.
template <class T>
std::uint64_t* encode_group(const body::ExactWidths& widths, const std::uint64_t* header,
                            const void* input, std::uint64_t* words) {
  const GroupShape<T> group(widths, header);
  StreamsWriter out(words, widths.word_bits());
  for (std::size_t m = 0; m < exact_minis; ++m) {
    const auto bits = static_cast<unsigned>(group.bits[m]);
    const auto zeros = static_cast<unsigned>(group.zeros[m]);
    if (bits + zeros == 0) continue;
    const body::ExactMini mini = group.mini(m);
    const ExactScale<T> scale(mini);
    for (std::size_t i = m * exact_mini; i < (m + 1) * exact_mini; i += exact_streams) {
      const auto elements =
          eight([&](std::size_t p) { return load_reals<T>(input, i + p * exact_lanes); });
      if (bits != 0)
        put_elements<T>(eight([&](std::size_t p) { return scale(elements.part[p]); }), mini, bits,
                        out);
      if (zeros != 0) out.put(minus_zeros(elements), zeros);
    }
  }
  return out.finish();
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
