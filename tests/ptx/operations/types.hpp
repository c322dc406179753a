#pragma once
// The types of PTX, and one handler out of a template by the name of its type.

#include "ptx/instruction.hpp"

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace cohom::ptx {

template <class... T>
struct Types {};

using Bytes = Types<std::uint8_t, std::int8_t>;
using Integers =
    Types<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>;
using Words = Types<std::uint32_t, std::uint64_t>;
using Reals = Types<float, double>;

template <class... A, class... B>
Types<A..., B...> operator+(Types<A...>, Types<B...>) {
  return {};
}
inline constexpr auto numbers = [] { return Integers() + Reals(); };

/// "u32" and "b32" are unsigned.
template <class T>
bool is_named(std::string_view name) {
  constexpr std::string_view bits = sizeof(T) == 1   ? "8"
                                    : sizeof(T) == 2 ? "16"
                                    : sizeof(T) == 4 ? "32"
                                                     : "64";
  if (name.empty() || name.substr(1) != bits) return false;
  if constexpr (std::is_floating_point_v<T>)
    return name[0] == 'f';
  else if constexpr (std::is_signed_v<T>)
    return name[0] == 's';
  else
    return name[0] == 'u' || name[0] == 'b';
}

/// make.operator()<T>() for the one type of the list that has the name; null where none has.
template <class Make, class... T>
Handler by_type(std::string_view name, Types<T...>, Make make) {
  Handler found = nullptr;
  const auto look_at = [&]<class U>() {
    if (is_named<U>(name)) found = make.template operator()<U>();
  };
  (look_at.template operator()<T>(), ...);
  return found;
}

/// The unsigned integer of as many bits.
template <std::size_t bytes>
using BitsOf = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t,
                       std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
using Unsigned = BitsOf<sizeof(T)>;

}  // namespace cohom::ptx
