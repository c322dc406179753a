// What a group's header says of its mini-blocks, all at once: these loops become vectors.

#if defined(COHOM_EXACT_SHAPE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_EXACT_SHAPE_INL_H
#undef COHOM_EXACT_SHAPE_INL_H
#else
#define COHOM_EXACT_SHAPE_INL_H
#endif

#include "kernels/exact/body/exact_format.hpp"
#include "kernels/exact/body/exact_header.hpp"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

/// Of a whole group.
template <class T>
struct GroupShape {
  std::int16_t low[exact_minis];        ///< position of bit 0 of a field
  std::int16_t magnitude[exact_minis];  ///< bits of |x|
  std::int16_t bits[exact_minis];       ///< of a field without its count of -0; 0: there is none
  std::int16_t zeros[exact_minis];      ///< bits of the count
  std::size_t stream_bits = 0;

  GroupShape(const body::ExactWidths& widths, const std::uint64_t* header) {
    using Header = body::ExactHeader<T>;
    const Header group(header, exact_group);
    const bool counts = count_zeros(widths, group);
    body::ExactCode<T> highs[exact_minis], lows[exact_minis];
    std::memcpy(highs, header, sizeof highs);
    std::memcpy(lows, header + group.code_words(), sizeof lows);
    constexpr int bottom = body::exact_positions<T> - body::exact_low_offset<T>;
    constexpr int top = body::exact_high_offset<T>;
    const auto carries = static_cast<int>(widths.carries);
    const auto sum_carries = static_cast<int>(widths.sum_carries);
    const auto max_field = static_cast<int>(widths.max_field);
    const int sum_counter = counts ? static_cast<int>(widths.sum_counter) : 0;
    for (std::size_t m = 0; m < exact_minis; ++m) {
      const int high = highs[m];
      const int at = bottom - static_cast<int>(lows[m]);
      const int size = high + top - at;
      const bool is_wide =
          high == static_cast<int>(body::exact_not_finite<T>) ||
          (high == 0 ? 0 : size + 1 + sum_carries) + (zeros[m] != 0 ? sum_counter : 0) > max_field;
      low[m] = static_cast<std::int16_t>(at);
      magnitude[m] = static_cast<std::int16_t>(size);
      bits[m] = static_cast<std::int16_t>(high == 0 || is_wide ? 0 : size + 1 + carries);
      zeros[m] = static_cast<std::int16_t>(is_wide ? 0 : zeros[m]);
    }
    int all = 0;
    for (std::size_t m = 0; m < exact_minis; ++m) all += bits[m] + zeros[m];
    stream_bits = static_cast<std::size_t>(all) * (exact_mini / exact_streams);
  }

  [[nodiscard]] body::ExactMini mini(std::size_t m) const {
    body::ExactMini shape;
    shape.empty = bits[m] == 0;
    shape.low = static_cast<unsigned>(low[m]);
    shape.magnitude = static_cast<unsigned>(magnitude[m]);
    return shape;
  }

 private:
  /// Whether any mini-block has a count.
  bool count_zeros(const body::ExactWidths& widths, const body::ExactHeader<T>& group) {
    using Header = body::ExactHeader<T>;
    bool any = false;
    for (std::size_t m = 0; m < exact_minis; m += Header::minis_a_lack) {
      const bool counts = group.counts_zeros(m);
      any |= counts;
      for (std::size_t i = m; i < m + Header::minis_a_lack; ++i)
        zeros[i] = static_cast<std::int16_t>(counts ? widths.counter : 0);
    }
    return any;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
