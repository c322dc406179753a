// thc's encode, for each compiled target. In a file of its own because it takes the compiler as long as
// all the others together.

#include "kernels/cpu/highway_targets.hpp"

#include "kernels/cpu/highway_rows.hpp"

#if COHOM_HIGHWAY_TARGETS

#include "kernels/cpu/thc_blocks.hpp"
#include "kernels/cpu/thc_scratch.hpp"
#include "kernels/cpu/thc_small_table.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/thc_encode_hwy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernels/cpu/thc_encode-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

void encode(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run, const void* input,
            void* feedback, const std::uint32_t* codes, Form form, std::uint64_t* words) {
  const EncodeCall call{format, draws, run, input, feedback, codes, form, words};
  switch (run.type) {
    case ElementType::f64: return encode_run<double>(call);
    case ElementType::f16: return encode_run<float16>(call);
    case ElementType::bf16: return encode_run<bfloat16>(call);
    case ElementType::f32: break;
  }
  encode_run<float>(call);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

decltype(ThcKernels::encode) highway_thc_encode(Isa isa) {
  switch (isa) {
    case Isa::avx512: return N_AVX3::encode;
    case Isa::avx2: return N_AVX2::encode;
    default: return N_SSE4::encode;
  }
}

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
decltype(ThcKernels::encode) highway_thc_encode(Isa) { return nullptr; }
}  // namespace cohom::kernels

#endif
