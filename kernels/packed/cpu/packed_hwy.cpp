// The packed kernels, one row for each compiled target.

#include "kernels/core/cpu/highway_targets.hpp"
#include "kernels/packed/cpu/packed_rows.hpp"

#if COHOM_HIGHWAY_TARGETS

#include "kernels/core/cpu/lane_permutations.hpp"
#include "kernels/packed/body/packed_payload.hpp"
#include "kernels/packed/body/packed_quantize.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/packed/cpu/packed_hwy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernels/packed/cpu/packed_decode-inl.h"
#include "kernels/packed/cpu/packed_encode-inl.h"
#include "kernels/packed/cpu/packed_measure-inl.h"
#include "kernels/packed/cpu/packed_merge-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

void measure(const PackedRun& run, const void* input, void* feedback, std::uint32_t* bins) {
  switch (run.type) {
    case ElementType::f64: return measure_run<double>(run, input, feedback, bins);
    case ElementType::f16: return measure_run<float16>(run, input, feedback, bins);
    case ElementType::bf16: return measure_run<bfloat16>(run, input, feedback, bins);
    case ElementType::f32: break;
  }
  measure_run<float>(run, input, feedback, bins);
}

/// Values of type T are what is encoded: elements, or the feedback.
template <class T>
std::size_t encode_as(const PackedQuantizer& quantizer, const PackedRun& run, const void* input,
                      void* feedback, std::uint64_t* words) {
  if constexpr (!std::is_same_v<T, double>)
    if (!quantizer.in_f64) return encode_run<T, float>(quantizer, run, input, feedback, words);
  return encode_run<T, double>(quantizer, run, input, feedback, words);
}

std::size_t encode(const PackedQuantizer& quantizer, const PackedRun& run, const void* input,
                   void* feedback, std::uint64_t* words) {
  if (run.type == ElementType::f64)
    return encode_as<double>(quantizer, run, input, feedback, words);
  if (run.type == ElementType::f32 || feedback != nullptr)
    return encode_as<float>(quantizer, run, input, feedback, words);
  if (run.type == ElementType::f16)
    return encode_as<float16>(quantizer, run, input, feedback, words);
  return encode_as<bfloat16>(quantizer, run, input, feedback, words);
}

template <class T>
bool decode_as(const PackedRun& run, ConstPackedPayload payload, double step, bool in_f64,
               std::uint64_t divisor, std::uint32_t* outliers, void* output) {
  if constexpr (!std::is_same_v<T, double>)
    if (!in_f64) return decode_run<T, float>(run, payload, step, divisor, outliers, output);
  return decode_run<T, double>(run, payload, step, divisor, outliers, output);
}

bool decode(const PackedRun& run, ConstPackedPayload payload, double step, bool in_f64,
            std::uint64_t divisor, std::uint32_t* outliers, void* output) {
  const auto as = [&]<class T>(T) {
    return decode_as<T>(run, payload, step, in_f64, divisor, outliers, output);
  };
  switch (run.type) {
    case ElementType::f64: return as(double{});
    case ElementType::f16: return as(float16{});
    case ElementType::bf16: return as(bfloat16{});
    case ElementType::f32: break;
  }
  return as(float{});
}

PackedKernels packed_row() { return {measure, encode, merge, shift, decode}; }

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

PackedKernels highway_packed(Isa isa) { return COHOM_ROW_OF(isa, packed_row); }

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
PackedKernels highway_packed(Isa) { return {}; }
}  // namespace cohom::kernels

#endif
