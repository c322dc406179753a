// bfe, bfi, bfind, sad, dp4a.

#include "arithmetic.hpp"
#include "find_handler.hpp"
#include "slots.hpp"

#include <algorithm>
#include <bit>

namespace cohom::ptx {
namespace {

using Whole = Types<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>;

/// Positions and lengths are taken modulo 256.
int byte_of(const Thread& thread, Slot slot) {
  return static_cast<int>(get<std::uint32_t>(thread, slot) & 255);
}

/// Beyond the field lies its sign, which is that of the highest bit it has.
template <class T>
void extract(Thread& thread, const Instruction& i) {
  constexpr int top = 8 * int{sizeof(T)} - 1;
  const auto value = get<Unsigned<T>>(thread, i.from[0]);
  const int first = byte_of(thread, i.from[1]), length = byte_of(thread, i.from[2]);
  const bool negative =
      std::is_signed_v<T> && length != 0 && (value >> std::min(first + length - 1, top) & 1) != 0;
  Unsigned<T> result = 0;
  for (int bit = 0; bit <= top; ++bit) {
    const bool within = bit < length && first + bit <= top;
    const bool set = within ? (value >> (first + bit) & 1) != 0 : negative;
    result |= static_cast<Unsigned<T>>(set) << bit;
  }
  put(thread, i.to[0], result);
}

template <class T>
void insert(Thread& thread, const Instruction& i) {
  const T field = get<T>(thread, i.from[0]);
  T result = get<T>(thread, i.from[1]);
  const int first = byte_of(thread, i.from[2]), length = byte_of(thread, i.from[3]);
  for (int bit = 0; bit < length && first + bit < 8 * int{sizeof(T)}; ++bit) {
    const T place = T{1} << (first + bit);
    result = (field >> bit & 1) != 0 ? result | place : result & ~place;
  }
  put(thread, i.to[0], result);
}

/// The highest bit that is not the sign: by number, or how far it must be shifted to the top.
template <class T, bool as_shift>
void find_highest(Thread& thread, const Instruction& i) {
  constexpr std::uint32_t top = 8 * sizeof(T) - 1, none = ~0u;
  T value = get<T>(thread, i.from[0]);
  if (value < T(0)) value = static_cast<T>(~value);
  const auto zeros = static_cast<std::uint32_t>(std::countl_zero(static_cast<Unsigned<T>>(value)));
  put(thread, i.to[0], value == 0 ? none : as_shift ? zeros : top - zeros);
}

/// |a - b| + c
template <class T>
void add_difference(Thread& thread, const Instruction& i) {
  const T a = get<T>(thread, i.from[0]), b = get<T>(thread, i.from[1]);
  const T difference = a < b ? Subtract()(b, a) : Subtract()(a, b);
  put<T>(thread, i.to[0], Add()(get<T>(thread, i.from[2]), difference));
}

/// Products of bytes, added up.
template <class A, class B>
void dot_product(Thread& thread, const Instruction& i) {
  auto sum = get<std::uint32_t>(thread, i.from[2]);
  for (unsigned k = 0; k < 4; ++k) {
    const auto a = static_cast<A>(thread.slots[i.from[0]] >> (8 * k));
    const auto b = static_cast<B>(thread.slots[i.from[1]] >> (8 * k));
    sum += static_cast<std::uint32_t>(std::int32_t{a} * std::int32_t{b});
  }
  put(thread, i.to[0], sum);
}
Handler find_dot_product(const Opcode& opcode) {
  using U = std::uint8_t;
  using S = std::int8_t;
  if (opcode.size() != 3) return nullptr;
  const bool signed_a = opcode.part(1) == "s32", signed_b = opcode.part(2) == "s32";
  if (signed_a) return signed_b ? &dot_product<S, S> : &dot_product<S, U>;
  return signed_b ? &dot_product<U, S> : &dot_product<U, U>;
}

}  // namespace

Handler find_bit_fields(const Opcode& opcode, Instruction&) {
  const std::string& name = opcode.name();
  if (name == "bfe")
    return by_type(opcode.type(), Whole(), []<class T>() -> Handler { return &extract<T>; });
  if (name == "bfi")
    return by_type(opcode.type(), Words(), []<class T>() -> Handler { return &insert<T>; });
  if (name == "bfind")
    return by_type(opcode.type(), Whole(), [&]<class T>() -> Handler {
      return opcode.has("shiftamt") ? &find_highest<T, true> : &find_highest<T, false>;
    });
  if (name == "sad")
    return by_type(opcode.type(), Integers(),
                   []<class T>() -> Handler { return &add_difference<T>; });
  if (name == "dp4a") return find_dot_product(opcode);
  return nullptr;
}

}  // namespace cohom::ptx
