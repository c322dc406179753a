#include "kernels/sparse/cpu/bloom_rows.hpp"

#include <algorithm>
#include <bit>

namespace cohom::kernels {
namespace {

using body::BloomProbe;

BloomProbe probe_of(const BloomShape& shape, std::size_t element) {
  return {body::frame(shape.key, element / 256), static_cast<std::uint32_t>(element % 256)};
}

void insert(const BloomShape& shape, std::size_t first, const std::uint64_t* bitmap,
            std::size_t count, std::uint64_t* filter) {
  for (std::size_t begin = 0; begin < count; begin += 64)
    for (std::uint64_t left = bitmap[begin / 64]; left != 0; left &= left - 1) {
      BloomProbe probe =
          probe_of(shape, first + begin + static_cast<std::size_t>(std::countr_zero(left)));
      for (std::uint32_t p = 0; p < shape.probes; ++p) {
        const std::uint32_t bit = probe.next(shape.bits);
        filter[bit / 64] |= std::uint64_t{1} << bit % 64;
      }
    }
}

bool may_hold(const BloomShape& shape, const std::uint64_t* filter, std::size_t element) {
  BloomProbe probe = probe_of(shape, element);
  for (std::uint32_t p = 0; p < shape.probes; ++p) {
    const std::uint32_t bit = probe.next(shape.bits);
    if ((filter[bit / 64] >> bit % 64 & 1) == 0) return false;
  }
  return true;
}

void find(const BloomShape& shape, const std::uint64_t* filter, std::size_t first,
          std::size_t count, std::uint64_t* bitmap) {
  for (std::size_t begin = 0; begin < count; begin += 64) {
    std::uint64_t bits = 0;
    for (std::size_t i = begin; i < std::min(begin + 64, count); ++i)
      bits |= std::uint64_t{may_hold(shape, filter, first + i)} << (i - begin);
    bitmap[begin / 64] = bits;
  }
}

}  // namespace

BloomKernels scalar_bloom() { return {insert, find}; }

}  // namespace cohom::kernels
