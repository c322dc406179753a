#pragma once
// Loading and storing elements in the type the arithmetic is done in: f32, or f64 for f64.

#include "kernels/core/body/float16.hpp"
#include "kernels/core/hd.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstring>

namespace cohom::kernels::body {

template <class T>
struct ArithmeticOf {
  using type = float;
};
template <>
struct ArithmeticOf<double> {
  using type = double;
};

/// The type an element is computed in.
template <class T>
using Arithmetic = typename ArithmeticOf<T>::type;

COHOM_HD inline float to_arithmetic(float value) { return value; }
COHOM_HD inline double to_arithmetic(double value) { return value; }
COHOM_HD inline float to_arithmetic(float16 value) { return f16_to_f32(value.bits); }
COHOM_HD inline float to_arithmetic(bfloat16 value) { return bf16_to_f32(value.bits); }

template <class T>
COHOM_HD inline T from_arithmetic(Arithmetic<T> value) {
  return value;
}
template <>
COHOM_HD inline float16 from_arithmetic<float16>(float value) {
  return {f32_to_f16(value)};
}
template <>
COHOM_HD inline bfloat16 from_arithmetic<bfloat16>(float value) {
  return {f32_to_bf16(value)};
}

/// Address of element `index` of an array that may lie at any address, so that only what needs no
/// alignment may read or write there.
template <class T>
COHOM_HD inline const T* element_at(const void* array, std::size_t index) {
  return reinterpret_cast<const T*>(static_cast<const char*>(array) + index * sizeof(T));
}
template <class T>
COHOM_HD inline T* element_at(void* array, std::size_t index) {
  return reinterpret_cast<T*>(static_cast<char*>(array) + index * sizeof(T));
}

/// Element `index` of an array, as it is stored. On the host the array may lie at any address; on a
/// device, where one instruction moves an element, it is aligned.
template <class T>
COHOM_HD inline T load_raw(const void* array, std::size_t index) {
#if defined(__CUDA_ARCH__)
  return static_cast<const T*>(array)[index];
#else
  T value;
  std::memcpy(&value, static_cast<const char*>(array) + index * sizeof(T), sizeof(T));
  return value;
#endif
}

template <class T>
COHOM_HD inline Arithmetic<T> load_element(const void* array, std::size_t index) {
  return to_arithmetic(load_raw<T>(array, index));
}

template <class T>
COHOM_HD inline void store_raw(void* array, std::size_t index, T element) {
#if defined(__CUDA_ARCH__)
  static_cast<T*>(array)[index] = element;
#else
  std::memcpy(static_cast<char*>(array) + index * sizeof(T), &element, sizeof(T));
#endif
}

template <class T>
COHOM_HD inline void store_element(void* array, std::size_t index, Arithmetic<T> value) {
  store_raw<T>(array, index, from_arithmetic<T>(value));
}

/// Calls visitor(T{}) with the C++ type of `type`.
template <class Visitor>
inline decltype(auto) with_element_type(ElementType type, Visitor&& visitor) {
  switch (type) {
    case ElementType::f64: return visitor(double{});
    case ElementType::f16: return visitor(float16{});
    case ElementType::bf16: return visitor(bfloat16{});
    case ElementType::f32: break;
  }
  return visitor(float{});
}

}  // namespace cohom::kernels::body
