// cvt.

#include "find_handler.hpp"
#include "nan.hpp"
#include "ptx/fault.hpp"
#include "rounding.hpp"
#include "slots.hpp"
#include "types.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace cohom::ptx {
namespace {

template <class T>
T to_integral(T value, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest: return std::nearbyint(value);
    case Rounding::to_zero: return std::trunc(value);
    case Rounding::down: return std::floor(value);
    case Rounding::up: return std::ceil(value);
    default: return value;
  }
}

/// Beyond the range the nearest end of it. NaN is 0, or with 64 bits on a side the highest bit
/// alone.
template <class To, class From>
To integer_of_real(From value, Rounding rounding) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value)) {
    if (sizeof(From) != 8 && sizeof(To) != 8) return 0;
    return static_cast<To>(Unsigned<To>{1} << (8 * sizeof(To) - 1));
  }
  const From whole = to_integral(value, rounding);
  const From beyond = std::ldexp(From{1}, Limits::digits);
  const From below = std::is_signed_v<To> ? -beyond : From{0};
  if (whole >= beyond) return Limits::max();
  if (whole <= below) return Limits::min();
  return static_cast<To>(whole);
}

template <class To, class From>
To integer_of_integer(From value, bool saturates) {
  if (!saturates) return static_cast<To>(value);
  using Limits = std::numeric_limits<To>;
  return static_cast<To>(std::clamp<__int128>(value, Limits::min(), Limits::max()));
}

template <class To, class From>
To real_of_real(From value, Rounding rounding, bool saturates) {
  To result = static_cast<To>(value);
  if constexpr (std::is_same_v<To, From>) result = to_integral(value, rounding);
  if (saturates) return std::isnan(result) ? To{0} : std::clamp(result, To{0}, To{1});
  return settled(result, result, result);
}

template <class To, class From>
void convert(Thread& thread, const Instruction& i) {
  const From value = get<From>(thread, i.from[0]);
  const auto rounding = static_cast<Rounding>(i.variant);
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>)
    put_extended(thread, i.to[0], integer_of_integer<To>(value, i.saturates), i.width);
  else if constexpr (std::is_integral_v<To>)
    put_extended(thread, i.to[0], integer_of_real<To>(value, rounding), i.width);
  else if constexpr (std::is_integral_v<From>)
    put(thread, i.to[0], static_cast<To>(value));
  else
    put(thread, i.to[0], real_of_real<To>(value, rounding, i.saturates));
}

bool is_real(std::string_view type) { return type == "f32" || type == "f64"; }

/// The host rounds to nearest where it must round a value to a smaller type.
bool is_rounded_otherwise(const Opcode& opcode, std::string_view to, std::string_view from) {
  return is_real(to) && to != from && !is_to_nearest(opcode);
}

}  // namespace

Handler find_conversion(const Opcode& opcode, Instruction& instruction) {
  if (opcode.name() != "cvt" || opcode.size() < 3 || opcode.has("relu")) return nullptr;
  const std::string_view to = opcode.part(opcode.size() - 2), from = opcode.type();
  if (is_rounded_otherwise(opcode, to, from)) return nullptr;
  instruction.variant = static_cast<std::uint8_t>(rounding_of(opcode));
  instruction.saturates = opcode.has("sat");
  const auto all = Integers() + Bytes() + Reals();
  return by_type(to, all, [&]<class To>() -> Handler {
    return by_type(from, all, []<class From>() -> Handler { return &convert<To, From>; });
  });
}

}  // namespace cohom::ptx
