#pragma once
// The element types of a user's vector, and storage types for the two 16-bit floats C++20 lacks.
// Where the compiler has 16-bit floats of its own they are elements, too, and so are CUDA's.

#include <cohom/cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// Compilers whose C++ has _Float16 (std::float16_t is another name of it) and __bf16
// (std::bfloat16_t). nvcc reads the macros of a host compiler whose types it may not know. GCC 12
// defines the macro for ARM, whose C alone has the type.
#if !defined(__CUDACC__)
#if defined(__FLT16_MANT_DIG__) && (defined(__clang__) || __GNUC__ >= 13 || defined(__SSE2__))
#define COHOM_HAS_FLOAT16
#endif
#if defined(__BFLT16_MANT_DIG__)
#define COHOM_HAS_BFLOAT16
#endif
#endif

// CUDA's, which cuda_fp16.h and cuda_bf16.h define: to declare them takes neither. NOLINTNEXTLINE
struct __half;
struct __nv_bfloat16;  // NOLINT

namespace cohom {

enum class ElementType : std::uint8_t { f32, f16, bf16, f64 };

inline constexpr ElementType all_element_types[] = {ElementType::f32, ElementType::f16,
                                                    ElementType::bf16, ElementType::f64};

/// Bits of an IEEE binary16 value. Storage only: convert to compute.
struct float16 {
  std::uint16_t bits = 0;
  friend bool operator==(float16, float16) = default;
};

/// Bits of a bfloat16 value (the upper half of a binary32). Storage only: convert to compute.
struct bfloat16 {
  std::uint16_t bits = 0;
  friend bool operator==(bfloat16, bfloat16) = default;
};

/// Bytes of one element.
constexpr std::size_t size_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::f32: return 4;
    case ElementType::f64: return 8;
    case ElementType::f16:
    case ElementType::bf16: return 2;
  }
  return 0;
}

constexpr std::string_view name_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::f32: return "f32";
    case ElementType::f16: return "f16";
    case ElementType::bf16: return "bf16";
    case ElementType::f64: return "f64";
  }
  return "?";
}

constexpr std::optional<ElementType> element_type_named(std::string_view name) noexcept {
  for (auto type : all_element_types)
    if (name_of(type) == name) return type;
  return std::nullopt;
}

namespace detail {
template <class T>
struct element_type_of;
template <>
struct element_type_of<float> {
  static constexpr auto value = ElementType::f32;
};
template <>
struct element_type_of<double> {
  static constexpr auto value = ElementType::f64;
};
template <>
struct element_type_of<float16> {
  static constexpr auto value = ElementType::f16;
};
template <>
struct element_type_of<bfloat16> {
  static constexpr auto value = ElementType::bf16;
};
template <>
struct element_type_of<::__half> {
  static constexpr auto value = ElementType::f16;
};
template <>
struct element_type_of<::__nv_bfloat16> {
  static constexpr auto value = ElementType::bf16;
};
#ifdef COHOM_HAS_FLOAT16
template <>
struct element_type_of<_Float16> {
  static constexpr auto value = ElementType::f16;
};
#endif
#ifdef COHOM_HAS_BFLOAT16
template <>
struct element_type_of<__bf16> {
  static constexpr auto value = ElementType::bf16;
};
#endif
}  // namespace detail

/// A C++ type that can be an element of an allreduce.
template <class T>
concept Element = requires {
  detail::element_type_of<T>::value;
};

template <Element T>
inline constexpr ElementType element_type_v = detail::element_type_of<T>::value;

}  // namespace cohom
