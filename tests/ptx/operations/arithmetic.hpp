#pragma once
// Arithmetic of two values of one type, integers modulo their size.

#include "nan.hpp"
#include "types.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace cohom::ptx {

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
    else
      return settled(a + b, a, b);
  }
};

struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
    else
      return settled(a - b, a, b);
  }
};

/// The lower half of a product of integers.
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
      return settled(a * b, a, b);
  }
};

struct MultiplyHigh {
  template <class T>
  T operator()(T a, T b) const {
    using Product = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((Product(a) * Product(b)) >> (8 * sizeof(T)));
  }
};

/// By 0 all bits are 1, as on devices.
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return static_cast<T>(-1);
      if constexpr (std::is_signed_v<T>)
        if (b == T(-1)) return Subtract()(T(0), a);
      return static_cast<T>(a / b);
    } else {
      return settled(a / b, a, b);
    }
  }
};

struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1)) return 0;
    return static_cast<T>(a % b);
  }
};

/// Minimum and maximum: a number goes before NaN, and -0 is below 0.
template <bool greatest>
struct Extreme {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return greatest ? std::max(a, b) : std::min(a, b);
    } else {
      if (std::isnan(a) && std::isnan(b)) return settled(a + b, a, b);
      if (std::isnan(a)) return b;
      if (std::isnan(b)) return a;
      if (a == b) return std::signbit(a) == greatest ? b : a;
      return (a > b) == greatest ? a : b;
    }
  }
};
using Minimum = Extreme<false>;
using Maximum = Extreme<true>;

/// The sign of a on b.
struct CopySign {
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};

struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

}  // namespace cohom::ptx
