// The thc kernels, one row for each compiled target.

#include "kernels/core/cpu/highway_targets.hpp"
#include "kernels/thc/cpu/thc_rows.hpp"

#if COHOM_HIGHWAY_TARGETS

#include "kernels/thc/cpu/thc_blocks.hpp"
#include "kernels/thc/cpu/thc_scratch.hpp"
#include "kernels/thc/cpu/thc_small_table.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/thc/cpu/thc_hwy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernels/thc/cpu/thc_decode-inl.h"
#include "kernels/thc/cpu/thc_encode-inl.h"
#include "kernels/thc/cpu/thc_measure-inl.h"
#include "kernels/thc/cpu/thc_promote-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

void measure(const ThcFormat& format, const ThcRun& run, const void* input, void* feedback,
             std::uint32_t* codes) {
  switch (run.type) {
    case ElementType::f64: return measure_run<double>(format, run, input, feedback, codes);
    case ElementType::f16: return measure_run<float16>(format, run, input, feedback, codes);
    case ElementType::bf16: return measure_run<bfloat16>(format, run, input, feedback, codes);
    case ElementType::f32: break;
  }
  measure_run<float>(format, run, input, feedback, codes);
}

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

void decode(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
            const std::uint64_t* sum, std::size_t contributions, const std::uint32_t* codes,
            std::uint64_t divisor, void* output) {
  const DecodeCall call{format, draws, run, sum, contributions, codes, divisor, output};
  switch (run.type) {
    case ElementType::f64: return decode_run<double>(call);
    case ElementType::f16: return decode_run<float16>(call);
    case ElementType::bf16: return decode_run<bfloat16>(call);
    case ElementType::f32: break;
  }
  decode_run<float>(call);
}

ThcKernels thc_row() { return {measure, encode, promote, decode}; }

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

ThcKernels highway_thc(Isa isa) { return COHOM_ROW_OF(isa, thc_row); }

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
ThcKernels highway_thc(Isa) { return {}; }
}  // namespace cohom::kernels

#endif
