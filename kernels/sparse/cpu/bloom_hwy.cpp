// Bloom filters with vectors, one row for each compiled target.

#include "kernels/core/cpu/highway_targets.hpp"
#include "kernels/sparse/cpu/bloom_rows.hpp"

#if COHOM_HIGHWAY_TARGETS

#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sparse/cpu/bloom_hwy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag32 = hn::ScalableTag<std::uint32_t>;
using Vec32 = hn::Vec<Tag32>;
inline constexpr std::size_t lanes32 = HWY_MAX_BYTES / 4;

HWY_INLINE Vec32 mix(Vec32 x) {
  const Tag32 d;
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x7feb352du));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(d, 0x846ca68bu));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

/// bit(i) = floor(random(i) * bits / 2^32).
HWY_INLINE Vec32 bits_of(Vec32 random, Vec32 bits) {
  const Tag32 d;
  const hn::Repartition<std::uint64_t, Tag32> d64;
  const auto even = hn::ShiftRight<32>(hn::MulEven(random, bits));
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, random))), bits);
  return hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, even));
}

/// Which of the elements 256 q + x, 256 q + x + 1, ... the filter may hold, as bits. Half of a
/// filter is set, and so half of the lanes that are left fall out with each probe.
HWY_INLINE std::uint64_t find_lanes(const BloomShape& shape, const std::uint64_t* filter,
                                    std::uint32_t frame, std::uint32_t x) {
  const Tag32 d;
  const hn::RebindToSigned<Tag32> di;
  const auto draws = hn::Add(hn::Set(d, frame + x * body::golden32),
                             hn::Mul(hn::Iota(d, 0), hn::Set(d, body::golden32)));
  auto next = mix(draws);
  const auto step = hn::Or(mix(hn::Add(draws, hn::Set(d, 256 * body::golden32))), hn::Set(d, 1));
  const auto size = hn::Set(d, shape.bits);
  auto held = hn::Set(d, 1);
  for (std::uint32_t p = 0; p < shape.probes; ++p) {
    const auto bit = bits_of(next, size);
    const auto word = hn::GatherIndex(d, reinterpret_cast<const std::uint32_t*>(filter),
                                      hn::BitCast(di, hn::ShiftRight<5>(bit)));
    held = hn::And(held, hn::Shr(word, hn::And(bit, hn::Set(d, 31))));
    if (hn::AllTrue(d, hn::Eq(held, hn::Zero(d)))) return 0;
    next = hn::Add(next, step);
  }
  std::uint8_t mask[8] = {};
  hn::StoreMaskBits(d, hn::Ne(held, hn::Zero(d)), mask);
  std::uint64_t bits = 0;
  for (std::size_t b = 0; b < (lanes32 + 7) / 8; ++b) bits |= std::uint64_t{mask[b]} << 8 * b;
  return bits;
}

void find(const BloomShape& shape, const std::uint64_t* filter, std::size_t first,
          std::size_t count, std::uint64_t* bitmap) {
  const std::size_t whole = count / 64 * 64;
  for (std::size_t begin = 0; begin < whole; begin += 64) {
    const std::uint32_t frame = body::frame(shape.key, (first + begin) / 256);
    const auto x = static_cast<std::uint32_t>((first + begin) % 256);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 64; i += lanes32)
      bits |= find_lanes(shape, filter, frame, x + static_cast<std::uint32_t>(i)) << i;
    bitmap[begin / 64] = bits;
  }
  scalar_bloom().find(shape, filter, first + whole, count - whole, bitmap + whole / 64);
}

BloomKernels bloom_row() { return {scalar_bloom().insert, find}; }

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

BloomKernels highway_bloom(Isa isa) { return COHOM_ROW_OF(isa, bloom_row); }

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
BloomKernels highway_bloom(Isa) { return {}; }
}  // namespace cohom::kernels

#endif
