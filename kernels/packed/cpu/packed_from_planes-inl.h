// Bit planes of a group to integers: squares of eight planes and eight elements are transposed,
// which gives bytes.

#if defined(COHOM_PACKED_FROM_PLANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_FROM_PLANES_INL_H
#undef COHOM_PACKED_FROM_PLANES_INL_H
#else
#define COHOM_PACKED_FROM_PLANES_INL_H
#endif

#include "kernels/packed/cpu/packed_planes-inl.h"
#include "kernels/packed/cpu/plane_vectors-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// One byte of each integer of a group, in pieces of 16 elements.
class GroupBytes {
 public:
  /// Those of planes 8 * byte and up.
  HWY_INLINE void gather(const Planes& planes, std::size_t byte) {
    for (std::size_t j = 0; j < plane_vectors; ++j) gather_vector(planes, byte, j);
  }

  /// Bytes of elements 16 h and up of mini-block 4 q + m, m < 4.
  [[nodiscard]] HWY_INLINE const std::uint8_t* at(std::size_t q, std::size_t m,
                                                  std::size_t h) const {
    constexpr std::size_t quads = lanes32 / 4;
    return bytes_[q / quads][2 * m + h] + q % quads * 16;
  }

 private:
  /// Row k, column e of every byte to row e, column k: pairs of rows exchange bits, then pairs of
  /// pairs. Afterwards row e has in byte b of a word the planes' bits of element 8 b + e.
  template <int distance>
  static HWY_INLINE void exchange(U32 (&row)[8], std::uint32_t mask) {
    const hn::ScalableTag<std::uint32_t> d;
    const auto kept = hn::Set(d, mask);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      if ((k & distance) != 0) continue;
      const U32 a = row[k];
      const U32 b = row[k + distance];
#if HWY_MAX_BYTES == 64  // selects by bits in one operation
      row[k] = hn::IfVecThenElse(kept, a, hn::ShiftLeft<distance>(b));
      row[k + distance] = hn::IfVecThenElse(kept, hn::ShiftRight<distance>(a), b);
#else
      const U32 moved = hn::And(hn::Xor(hn::ShiftRight<distance>(a), b), kept);
      row[k] = hn::Xor(a, hn::ShiftLeft<distance>(moved));
      row[k + distance] = hn::Xor(b, moved);
#endif
    }
  }

  /// Interleaves rows until the eight bytes of eight elements lie side by side.
  template <class T>
  static HWY_INLINE void interleave(U32 (&row)[8]) {
    const hn::ScalableTag<T> d;
    const hn::ScalableTag<std::uint32_t> d32;
    U32 out[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const auto a = hn::BitCast(d, row[2 * i]);
      const auto b = hn::BitCast(d, row[2 * i + 1]);
      out[i] = hn::BitCast(d32, hn::InterleaveLower(d, a, b));
      out[i + 4] = hn::BitCast(d32, hn::InterleaveUpper(d, a, b));
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) row[i] = out[i];
  }

  HWY_INLINE void gather_vector(const Planes& planes, std::size_t byte, std::size_t j) {
    const hn::ScalableTag<std::uint8_t> d8;
    U32 row[8];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k)
      row[k] = planes.load(std::min(8 * byte + k, planes.count - 1), j);
    exchange<1>(row, 0x55555555u);
    exchange<2>(row, 0x33333333u);
    exchange<4>(row, 0x0f0f0f0fu);
    interleave<std::uint8_t>(row);
    interleave<std::uint16_t>(row);
    interleave<std::uint32_t>(row);
    // Each step put all its lower halves first: the bits of a row's number are reversed.
    static constexpr std::size_t piece[8] = {0, 4, 2, 6, 1, 5, 3, 7};
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) hn::Store(hn::BitCast(d8, row[i]), d8, bytes_[j][piece[i]]);
  }

  alignas(64) std::uint8_t bytes_[plane_vectors][8][HWY_MAX_BYTES];
};

/// The integers of a group, as many bytes each as they need.
template <std::size_t bytes>
class GroupIntegers {
 public:
  HWY_INLINE explicit GroupIntegers(const Planes& planes) {
#pragma GCC unroll 4
    for (std::size_t b = 0; b < bytes; ++b) byte_[b].gather(planes, b);
  }

  /// As many as D has lanes, from element 16 h + i of mini-block 4 q + m on, m < 4.
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::size_t q, std::size_t m, std::size_t h,
                             std::size_t i) const {
    const hn::Rebind<std::int8_t, D> d8;
    const hn::Rebind<std::uint8_t, D> du8;
    const auto* const top = reinterpret_cast<const std::int8_t*>(byte_[bytes - 1].at(q, m, h));
    auto v = hn::PromoteTo(d, hn::LoadU(d8, top + i));
    for (std::size_t b = bytes - 1; b-- > 0;)
      v = hn::Or(hn::ShiftLeft<8>(v), hn::PromoteTo(d, hn::LoadU(du8, byte_[b].at(q, m, h) + i)));
    return v;
  }

 private:
  GroupBytes byte_[bytes];
};

/// Calls visit(integers) with a group's GroupIntegers.
template <class Visit>
HWY_INLINE void with_integers(const Planes& planes, Visit visit) {
  if (planes.count <= 8)
    visit(GroupIntegers<1>(planes));
  else if (planes.count <= 16)
    visit(GroupIntegers<2>(planes));
  else
    visit(GroupIntegers<4>(planes));
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
