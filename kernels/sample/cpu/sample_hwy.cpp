// Sampling signs with vectors of draws, one row for each compiled target.

#include "kernels/core/cpu/highway_targets.hpp"
#include "kernels/sample/cpu/sample_rows.hpp"

#if COHOM_HIGHWAY_TARGETS

#include "kernels/sample/cpu/sample_blocks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sample/cpu/sample_hwy.cpp"
#include <hwy/foreach_target.h>

#include "kernels/sample/cpu/sample_groups-inl.h"
#include "kernels/sample/cpu/sample_pairs-inl.h"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The upper half of each draw's product with `all`.
void draw_permutations(std::uint32_t frame, std::size_t groups, std::uint32_t all,
                       Permutations& numbers) {
  const GroupTag d;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  const auto times = hn::Set(d, all);
  GroupDraws draws(frame);
  for (std::size_t g = 0; g < groups; g += hn::MaxLanes(d)) {
    const auto x = draws.next();
    const auto even = hn::ShiftRight<32>(hn::MulEven(x, times));
    const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, x))), times);
    hn::StoreU(hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, even)), d, numbers.data() + g);
  }
}

void gather_own_of_ranks(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                         const std::uint64_t* bits, std::uint64_t* own) {
  switch (format.ranks) {
    case 2: return gather_own_pairs(format, key, run, bits, own);
    case 4: return gather_own_groups<2>(format, key, run, bits, own);
    case 8: return gather_own_groups<3>(format, key, run, bits, own);
    case 16: return gather_own_groups<4>(format, key, run, bits, own);
    default: return gather_own<draw_permutations>(format, key, run, bits, own);
  }
}

void place_of_ranks(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                    const std::uint64_t* const* contributions, std::uint64_t* bits) {
  switch (format.ranks) {
    case 2: return place_pairs(format, key, run, contributions, bits);
    case 4: return place_groups<2>(format, key, run, contributions, bits);
#if !HWY_ARCH_ARM  // with NEON a table takes fewer instructions
    case 8: return place_groups<3>(format, key, run, contributions, bits);
    case 16: return place_groups<4>(format, key, run, contributions, bits);
#endif
    default: return place<draw_permutations>(format, key, run, contributions, bits);
  }
}

void keep_own_of_ranks(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                       std::uint64_t* bits) {
  if (format.ranks == 2) return keep_own_pairs(format, key, run, bits);
  keep_own<draw_permutations>(format, key, run, bits);
}

SampleKernels sample_target_row() {
  return {keep_own_of_ranks, gather_own_of_ranks, place_of_ranks};
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

SampleKernels highway_sample(Isa isa) { return COHOM_ROW_OF(isa, sample_target_row); }

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
SampleKernels highway_sample(Isa) { return {}; }
}  // namespace cohom::kernels

#endif
