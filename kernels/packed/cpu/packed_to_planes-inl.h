// Integers of a group to bit planes: bytes first, then one bit of each byte of a vector at a time.

#if defined(COHOM_PACKED_TO_PLANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_TO_PLANES_INL_H
#undef COHOM_PACKED_TO_PLANES_INL_H
#else
#define COHOM_PACKED_TO_PLANES_INL_H
#endif

#include "kernels/packed/cpu/packed_planes-inl.h"
#include "kernels/packed/cpu/plane_vectors-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Bytes 2 pair and 2 pair + 1, with their sign, of as many integers as a vector has bytes.
template <std::size_t bytes>
HWY_INLINE void load_pair(const std::int32_t* integers, std::size_t pair, I16& low, I16& high) {
  I32 v[4];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
    v[i] = hn::Load(hn::ScalableTag<std::int32_t>(), integers + i * lanes32);
    if (bytes == 4) v[i] = hn::ShiftRight<16>(pair == 0 ? hn::ShiftLeft<16>(v[i]) : v[i]);
  }
  low = narrow_signed(v[0], v[1]);
  high = narrow_signed(v[2], v[3]);
}
template <std::size_t bytes>
HWY_INLINE void load_pair(const std::int16_t* narrow, std::size_t, I16& low, I16& high) {
  low = hn::Load(hn::ScalableTag<std::int16_t>(), narrow);
  high = hn::Load(hn::ScalableTag<std::int16_t>(), narrow + 2 * lanes32);
}

/// byte[b] := byte b of each of as many integers as a vector has bytes; they fit so many bytes.
template <std::size_t bytes, class Integer>
HWY_INLINE void bytes_of_integers(const Integer* integers, U8 (&byte)[bytes]) {
#pragma GCC unroll 2
  for (std::size_t pair = 0; 2 * pair < bytes; ++pair) {
    I16 low, high;
    load_pair<bytes>(integers, pair, low, high);
    if constexpr (bytes == 1) {
      byte[0] = in_order(narrow_signed(low, high));
    } else {
      const auto lower = hn::Set(hn::ScalableTag<std::int16_t>(), 0x00ff);
      byte[2 * pair] = in_order(narrow_unsigned(hn::And(low, lower), hn::And(high, lower)));
      byte[2 * pair + 1] = in_order(narrow_signed(hn::ShiftRight<8>(low), hn::ShiftRight<8>(high)));
    }
  }
}

#if HWY_ARCH_ARM
/// Bits of `mask` change places with those that are `distance` higher.
template <int distance>
HWY_INLINE U64 exchange_bits(U64 v, std::uint64_t mask) {
  const hn::ScalableTag<std::uint64_t> d;
  const auto moved = hn::And(hn::Xor(hn::ShiftRight<distance>(v), v), hn::Set(d, mask));
  return hn::Xor(hn::Xor(v, moved), hn::ShiftLeft<distance>(moved));
}
#endif

/// Planes first .. first + count - 1 (4 or 8 of them) of as many elements as a vector has bytes,
/// from the lower bits of the bytes; `place` counts such vectors.
#if HWY_ARCH_ARM
template <std::size_t count>
HWY_INLINE void store_bits(U8 v, std::size_t first, std::size_t place, Planes& planes) {
  // There is no instruction for the topmost bits of all bytes. Squares of eight bytes and eight
  // bits are transposed instead: pairs of bits change places, then pairs of pairs, then halves.
  const hn::ScalableTag<std::uint8_t> d8;
  U64 square = hn::BitCast(hn::ScalableTag<std::uint64_t>(), v);
  square = exchange_bits<7>(square, 0x00aa00aa00aa00aau);
  square = exchange_bits<14>(square, 0x0000cccc0000ccccu);
  square = exchange_bits<28>(square, 0x00000000f0f0f0f0u);
  // Byte k of each half has its elements' bits k.
  const U8 byte = hn::BitCast(d8, square);
  const uint16x8_t bits =
      vreinterpretq_u16_u8(vzip1q_u8(byte.raw, vextq_u8(byte.raw, byte.raw, 8)));
  const auto store = [&](std::size_t k, std::uint16_t of_plane) HWY_ATTR {
    std::memcpy(reinterpret_cast<char*>(planes.words[first + k]) + place * sizeof of_plane,
                &of_plane, sizeof of_plane);
  };
  store(0, vgetq_lane_u16(bits, 0));
  store(1, vgetq_lane_u16(bits, 1));
  store(2, vgetq_lane_u16(bits, 2));
  store(3, vgetq_lane_u16(bits, 3));
  if constexpr (count == 8) {
    store(4, vgetq_lane_u16(bits, 4));
    store(5, vgetq_lane_u16(bits, 5));
    store(6, vgetq_lane_u16(bits, 6));
    store(7, vgetq_lane_u16(bits, 7));
  }
}
#else
template <std::size_t count>
HWY_INLINE void store_bits(U8 v, std::size_t first, std::size_t place, Planes& planes) {
  const hn::ScalableTag<std::uint8_t> d8;
  const auto store = [&](std::size_t k, ByteBits bits) HWY_ATTR {
    std::memcpy(reinterpret_cast<char*>(planes.words[first + k]) + place * sizeof bits, &bits,
                sizeof bits);
  };
#if HWY_MAX_BYTES == 64
  // Half of them by tests and half by doubling, which use different parts of the processor.
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k)
    store(k, _mm512_test_epi8_mask(v.raw, hn::Set(d8, static_cast<std::uint8_t>(1 << k)).raw));
  constexpr std::size_t tested = 4;
#else
  if constexpr (count == 4) {
    // What crosses into a byte from the one below it is shifted out of sight again.
    const hn::ScalableTag<std::uint16_t> d16;
    v = hn::BitCast(d8, hn::ShiftLeft<4>(hn::BitCast(d16, v)));
  }
  constexpr std::size_t tested = 0;
#endif
  for (std::size_t i = tested; i < count; ++i) {  // from the top down
    store(count - 1 - (i - tested), top_bits(v));
    v = hn::Add(v, v);
  }
}
#endif

/// Planes of integers that fit `bytes` bytes, of which the last has `top` planes.
template <std::size_t bytes, std::size_t top, class Integer>
HWY_INLINE void planes_of_bytes(const Integer* integers, Planes& planes) {
  constexpr std::size_t elements = HWY_MAX_BYTES;
  for (std::size_t place = 0; place < packed_group / elements; ++place) {
    U8 byte[bytes];
    bytes_of_integers(integers + place * elements, byte);
    for (std::size_t b = 0; b + 1 < bytes; ++b) store_bits<8>(byte[b], 8 * b, place, planes);
    store_bits<top>(byte[bytes - 1], 8 * (bytes - 1), place, planes);
  }
}

/// planes.count of integers' bits, enough for all of them; `integers` is aligned. Those of 16 bits
/// are as narrow_signed() leaves them.
template <class Integer>
HWY_INLINE void planes_of_integers(const Integer* integers, Planes& planes) {
  switch (planes.count) {
    case 4: return planes_of_bytes<1, 4>(integers, planes);
    case 8: return planes_of_bytes<1, 8>(integers, planes);
    case 12: return planes_of_bytes<2, 4>(integers, planes);
    case 16: return planes_of_bytes<2, 8>(integers, planes);
    default:
      if constexpr (sizeof(Integer) == 4) planes_of_bytes<4, 8>(integers, planes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
