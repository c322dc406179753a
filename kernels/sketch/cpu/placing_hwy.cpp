// Placing with vectors, one row for each compiled target.

#include "kernels/core/cpu/highway_targets.hpp"
#include "kernels/sketch/cpu/placing_rows.hpp"

#if COHOM_HIGHWAY_TARGETS

#include "kernels/core/cpu/lane_permutations.hpp"

#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sketch/cpu/placing_hwy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag32 = hn::ScalableTag<std::uint32_t>;
using Tag64 = hn::Repartition<std::uint64_t, Tag32>;
using Vec32 = hn::Vec<Tag32>;
using Vec64 = hn::Vec<Tag64>;
inline constexpr std::size_t lanes32 = HWY_MAX_BYTES / 4;
inline constexpr std::size_t lanes64 = HWY_MAX_BYTES / 8;

#if HWY_ARCH_ARM  // NEON does not multiply 64 bits, and the processor does

void places(const SketchShape& shape, const std::uint32_t* names, std::size_t items,
            SketchPlace* places) {
  scalar_placing().places(shape, names, items, places);
}

#else

HWY_INLINE Vec64 mix(Vec64 x) {
  const Tag64 d;
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<30>(x)), hn::Set(d, 0xbf58476d1ce4e5b9u));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<27>(x)), hn::Set(d, 0x94d049bb133111ebu));
  return hn::Xor(x, hn::ShiftRight<31>(x));
}

/// The lower half of each lane as a share of a row: which of its cells.
HWY_INLINE Vec64 part(Vec64 random, Vec32 row) {
  return hn::ShiftRight<32>(hn::MulEven(hn::BitCast(Tag32(), random), row));
}

void places(const SketchShape& shape, const std::uint32_t* names, std::size_t items,
            SketchPlace* places) {
  static_assert(sizeof(SketchPlace) == 8);
  const Tag64 d;
  const hn::Rebind<std::uint32_t, Tag64> names_tag;
  const auto row = hn::Set(Tag32(), shape.row);
  const auto key = hn::Set(d, shape.key);
  const auto second_row = hn::Set(d, std::uint64_t{shape.row});
  const auto third_row = hn::Set(d, 2 * std::uint64_t{shape.row});
  auto next = hn::Iota(d, 0);
  const std::size_t whole = items / lanes64 * lanes64;
  for (std::size_t i = 0; i < whole; i += lanes64) {
    const auto name = names != nullptr ? hn::PromoteTo(d, hn::LoadU(names_tag, names + i)) : next;
    next = hn::Add(next, hn::Set(d, lanes64));
    const auto bits = mix(hn::Add(key, hn::Mul(name, hn::Set(d, body::golden64))));
    const auto more = hn::Mul(hn::Xor(hn::ShiftRight<32>(bits), bits), hn::Set(d, body::golden64));
    const auto first = part(hn::ShiftRight<32>(bits), row);
    const auto second = hn::Add(part(bits, row), second_row);
    const auto third = hn::Add(part(hn::ShiftRight<32>(more), row), third_row);
    const auto sign = hn::ShiftLeft<63>(hn::ShiftRight<31>(more));
    const auto place = hn::Or(hn::Or(first, hn::ShiftLeft<SketchPlace::cell_bits>(second)),
                              hn::Or(hn::ShiftLeft<2 * SketchPlace::cell_bits>(third), sign));
    hn::StoreU(place, d, reinterpret_cast<std::uint64_t*>(places + i));
  }
  for (std::size_t i = whole; i < items; ++i)
    places[i] = SketchPlace(shape, names != nullptr ? names[i] : static_cast<std::uint32_t>(i));
}

#endif

/// Stores the lanes of v whose condition is true side by side; returns how many.
HWY_INLINE std::size_t store_selected(Vec32 v, hn::Mask<Tag32> condition, std::uint32_t* to) {
#if HWY_ARCH_ARM
  // One sum over the lanes says which they are, and above that how many.
  const std::uint32_t bit_and_one[4] = {0x101, 0x102, 0x104, 0x108};
  const auto selected = hn::IfThenElseZero(condition, hn::LoadU(Tag32(), bit_and_one));
  const std::uint32_t sum = vaddvq_u32(selected.raw);
  const auto& order = permutations_of_4.compress[sum & 0xf].part;
  const uint8x16_t bytes = vreinterpretq_u8_u32(v.raw);
  vst1q_u32(to,
            vreinterpretq_u32_u8(vqtbl1q_u8(bytes, vreinterpretq_u8_s8(vld1q_s8(order.data())))));
  return sum >> 8;
#else
  return hn::CompressStore(v, condition, Tag32(), to);
#endif
}

std::size_t find_singles(const std::uint32_t* links, std::size_t count, std::uint32_t* numbers) {
  const Tag32 d;
  const std::size_t whole = count / lanes32 * lanes32;
  auto next = hn::Iota(d, 0);
  std::size_t found = 0;
  for (std::size_t i = 0; i < whole; i += lanes32) {
    const auto single = hn::Eq(hn::ShiftRight<16>(hn::LoadU(d, links + i)), hn::Set(d, 1));
    found += store_selected(next, single, numbers + found);
    next = hn::Add(next, hn::Set(d, lanes32));
  }
  std::uint32_t* const rest = numbers + found;
  const std::size_t left = scalar_placing().find_singles(links + whole, count - whole, rest);
  for (std::size_t i = 0; i < left; ++i) rest[i] += static_cast<std::uint32_t>(whole);
  return found + left;
}

PlacingKernels placing_row() { return {places, find_singles}; }

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

PlacingKernels highway_placing(Isa isa) { return COHOM_ROW_OF(isa, placing_row); }

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
PlacingKernels highway_placing(Isa) { return {}; }
}  // namespace cohom::kernels

#endif
