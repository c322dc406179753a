#pragma once
// The functions of the packed row, by the files they are in.

#include "kernels/core/body/element.hpp"
#include "kernels/packed/device/packed_lanes.hpp"
#include "kernels/packed/packed.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

// packed_measure.cpp
void measure_packed(const PackedRun& run, const void* input, void* feedback, std::uint32_t* bins);

// packed_encode.cpp
std::size_t encode_packed(const PackedQuantizer& quantizer, const PackedRun& run, const void* input,
                          void* feedback, std::uint64_t* words);

// packed_merge.cpp
std::size_t merge_packed(std::size_t groups, const ConstPackedPayload* payloads, std::size_t count,
                         std::uint64_t* sum);
std::size_t shift_packed(std::size_t groups, ConstPackedPayload payload, unsigned shift,
                         std::uint64_t* words);

// packed_decode.cpp
bool decode_packed(const PackedRun& run, ConstPackedPayload payload, double step, bool in_f64,
                   std::uint64_t divisor, std::uint32_t* outliers, void* output);

/// Calls visitor(T{}, Real{}) with the element type and the arithmetic.
template <class Visitor>
decltype(auto) with_packed_types(ElementType type, bool in_f64, Visitor&& visitor) {
  return body::with_element_type(type, [&]<class T>(T element) {
    return in_f64 ? visitor(element, double{}) : visitor(element, body::Arithmetic<T>{});
  });
}

PackedKernels packed_row();

}  // namespace cohom::kernels::device
