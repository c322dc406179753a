// Sampling signs with vectors of draws, one row for each compiled target.

#include "kernels/cpu/highway_targets.hpp"

#include "kernels/cpu/highway_rows.hpp"

#if COHOM_HIGHWAY_TARGETS

#include "kernels/cpu/sample_blocks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/sample_hwy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// mix32 of kernels/body/random.hpp, then the upper half of the product with `all`.
void draw_permutations(std::uint32_t frame, std::size_t groups, std::uint32_t all,
                       Permutations& numbers) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  const auto times = hn::Set(d, all);
  const auto step = hn::Set(d, static_cast<std::uint32_t>(hn::MaxLanes(d)) * body::golden32);
  auto next = hn::Add(hn::Set(d, frame), hn::Mul(hn::Iota(d, 0), hn::Set(d, body::golden32)));
  for (std::size_t g = 0; g < groups; g += hn::MaxLanes(d)) {
    auto x = next;
    next = hn::Add(next, step);
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x7feb352du));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(d, 0x846ca68bu));
    x = hn::Xor(x, hn::ShiftRight<16>(x));
    const auto even = hn::ShiftRight<32>(hn::MulEven(x, times));
    const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, x))), times);
    hn::StoreU(hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, even)), d, numbers.data() + g);
  }
}

SampleKernels sample_target_row() { return sample_row<draw_permutations>(); }

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

SampleKernels highway_sample(Isa isa) {
  switch (isa) {
    case Isa::avx512: return N_AVX3::sample_target_row();
    case Isa::avx2: return N_AVX2::sample_target_row();
    default: return N_SSE4::sample_target_row();
  }
}

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
SampleKernels highway_sample(Isa) { return {}; }
}  // namespace cohom::kernels

#endif
