#include "element_values.hpp"

#include "half.hpp"

#include <algorithm>
#include <cstring>

namespace cohom::bench {
namespace {

double promote(float value) { return value; }
double promote(double value) { return value; }
double promote(float16 value) { return to_float(value); }
double promote(bfloat16 value) { return to_float(value); }

template <class T>
T narrow(double value);
template <>
float narrow(double value) {
  return static_cast<float>(value);
}
template <>
double narrow(double value) {
  return value;
}
template <>
float16 narrow(double value) {
  return to_float16(static_cast<float>(value));
}
template <>
bfloat16 narrow(double value) {
  return to_bfloat16(static_cast<float>(value));
}

template <class T>
void store_as(std::span<const double> values, std::byte* out) {
  std::ranges::transform(values, reinterpret_cast<T*>(out), narrow<T>);
}

template <class T>
void load_as(const std::byte* elements, std::span<double> values) {
  const auto* first = reinterpret_cast<const T*>(elements);
  std::transform(first, first + values.size(), values.begin(),
                 [](T value) { return promote(value); });
}

}  // namespace

void store(ElementType type, std::span<const double> values, std::byte* out) {
  switch (type) {
    case ElementType::f32: return store_as<float>(values, out);
    case ElementType::f64: return store_as<double>(values, out);
    case ElementType::f16: return store_as<float16>(values, out);
    case ElementType::bf16: return store_as<bfloat16>(values, out);
  }
}

void load(ElementType type, const std::byte* elements, std::span<double> values) {
  switch (type) {
    case ElementType::f32: return load_as<float>(elements, values);
    case ElementType::f64: return load_as<double>(elements, values);
    case ElementType::f16: return load_as<float16>(elements, values);
    case ElementType::bf16: return load_as<bfloat16>(elements, values);
  }
}

}  // namespace cohom::bench
