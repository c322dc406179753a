// Operations of one value: not, neg, abs, sqrt, rcp, clz, popc, brev.

#include "arithmetic.hpp"
#include "find_handler.hpp"
#include "rounding.hpp"
#include "slots.hpp"

#include <bit>

namespace cohom::ptx {
namespace {

template <class T>
using BitsOfReal = BitsOf<sizeof(T)>;

/// Of a NaN as well, but where NaNs are canonical.
template <class T>
T with_sign(T a, bool negate) {
  using Bits = BitsOfReal<T>;
  constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
  if (std::isnan(a) && Settings::instance().nan == NanMode::canonical) return settled(a, a, a);
  const auto bits = std::bit_cast<Bits>(a);
  return std::bit_cast<T>(static_cast<Bits>(negate ? bits ^ sign : bits & ~sign));
}

struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
struct IsZero {
  template <class T>
  T operator()(T a) const {
    return a == 0 ? 1 : 0;
  }
};
struct Negate {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return Subtract()(T(0), a);
    else
      return with_sign(a, true);
  }
};
struct Absolute {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return a < 0 ? Subtract()(T(0), a) : a;
    else
      return with_sign(a, false);
  }
};
struct SquareRoot {
  template <class T>
  T operator()(T a) const {
    return settled(std::sqrt(a), a, a);
  }
};
struct Reciprocal {
  template <class T>
  T operator()(T a) const {
    return settled(T(1) / a, a, a);
  }
};
struct LeadingZeros {
  template <class T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::countl_zero(a));
  }
};
struct OneBits {
  template <class T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::popcount(a));
  }
};
struct Reversed {
  template <class T>
  T operator()(T a) const {
    T result = 0;
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit)
      result = static_cast<T>(result << 1 | (a >> bit & 1));
    return result;
  }
};

template <class T, class Operation>
void unary(Thread& thread, const Instruction& i) {
  put(thread, i.to[0], Operation()(get<T>(thread, i.from[0])));
}
void invert_predicate(Thread& thread, const Instruction& i) {
  put_predicate(thread, i.to[0], !get_predicate(thread, i.from[0]));
}

template <class Operation, class List>
Handler of(List list, const Opcode& opcode) {
  return by_type(opcode.type(), list, []<class T>() -> Handler { return &unary<T, Operation>; });
}

}  // namespace

Handler find_unary(const Opcode& opcode, Instruction&) {
  const std::string& name = opcode.name();
  if (name == "not")
    return opcode.type() == "pred" ? &invert_predicate : of<Not>(Integers(), opcode);
  if (name == "cnot") return of<IsZero>(Integers(), opcode);
  if (name == "neg") return of<Negate>(numbers(), opcode);
  if (name == "abs") return of<Absolute>(numbers(), opcode);
  const bool to_nearest = rounding_of(opcode) == Rounding::nearest;
  if (name == "sqrt" && to_nearest) return of<SquareRoot>(Reals(), opcode);
  if (name == "rcp" && to_nearest) return of<Reciprocal>(Reals(), opcode);
  if (name == "clz") return of<LeadingZeros>(Words(), opcode);
  if (name == "popc") return of<OneBits>(Words(), opcode);
  if (name == "brev") return of<Reversed>(Words(), opcode);
  return nullptr;
}

}  // namespace cohom::ptx
