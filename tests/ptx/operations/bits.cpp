// and, or, xor, shl, shr, shf, lop3, prmt.

#include "arithmetic.hpp"
#include "find_handler.hpp"
#include "slots.hpp"

namespace cohom::ptx {
namespace {

template <class T, class Operation>
void bitwise(Thread& thread, const Instruction& i) {
  put<T>(thread, i.to[0], Operation()(get<T>(thread, i.from[0]), get<T>(thread, i.from[1])));
}
template <class Operation>
void of_predicates(Thread& thread, const Instruction& i) {
  const unsigned a = get_predicate(thread, i.from[0]), b = get_predicate(thread, i.from[1]);
  put_predicate(thread, i.to[0], Operation()(a, b) != 0);
}
template <class Operation>
Handler find_bitwise(const Opcode& opcode) {
  if (opcode.type() == "pred") return &of_predicates<Operation>;
  return by_type(opcode.type(), Integers(),
                 []<class T>() -> Handler { return &bitwise<T, Operation>; });
}

/// Counts beyond the bits of a value shift all of them out.
template <class T>
void shift_left(Thread& thread, const Instruction& i) {
  const auto count = get<std::uint32_t>(thread, i.from[1]);
  const auto value = get<Unsigned<T>>(thread, i.from[0]);
  put<Unsigned<T>>(thread, i.to[0],
                   count >= 8 * sizeof(T) ? 0 : static_cast<Unsigned<T>>(value << count));
}
template <class T>
void shift_right(Thread& thread, const Instruction& i) {
  const auto count = get<std::uint32_t>(thread, i.from[1]);
  const T value = get<T>(thread, i.from[0]);
  const T sign = static_cast<T>(value < T(0) ? -1 : 0);
  put<T>(thread, i.to[0], count >= 8 * sizeof(T) ? sign : static_cast<T>(value >> count));
}

/// Of two words as one.
std::uint64_t pair_of(const Thread& thread, const Instruction& i) {
  return std::uint64_t{get<std::uint32_t>(thread, i.from[1])} << 32 |
         get<std::uint32_t>(thread, i.from[0]);
}
template <bool left, bool clamps>
void funnel_shift(Thread& thread, const Instruction& i) {
  const auto asked = get<std::uint32_t>(thread, i.from[2]);
  const std::uint32_t count = clamps ? std::min(asked, 32u) : asked & 31;
  const std::uint64_t pair = pair_of(thread, i);
  put(thread, i.to[0], static_cast<std::uint32_t>(left ? pair << count >> 32 : pair >> count));
}

/// Four of the eight bytes of two words; bit 3 of a selector spreads the byte's sign.
void permute(Thread& thread, const Instruction& i) {
  const std::uint64_t pair = pair_of(thread, i);
  const auto selectors = get<std::uint32_t>(thread, i.from[2]);
  std::uint32_t result = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const std::uint32_t selector = selectors >> (4 * k) & 15;
    auto byte = static_cast<std::uint32_t>(pair >> (8 * (selector & 7)) & 255);
    if ((selector & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << (8 * k);
  }
  put(thread, i.to[0], result);
}

/// Any function of three bits: bit 4a + 2b + c of the table.
void look_up(Thread& thread, const Instruction& i) {
  const auto a = get<std::uint32_t>(thread, i.from[0]), b = get<std::uint32_t>(thread, i.from[1]);
  const auto c = get<std::uint32_t>(thread, i.from[2]);
  const auto table = get<std::uint32_t>(thread, i.from[3]);
  std::uint32_t result = 0;
  for (unsigned k = 0; k < 8; ++k)
    if ((table >> k & 1) != 0)
      result |= ((k & 4) != 0 ? a : ~a) & ((k & 2) != 0 ? b : ~b) & ((k & 1) != 0 ? c : ~c);
  put(thread, i.to[0], result);
}

Handler find_funnel_shift(const Opcode& opcode) {
  const bool clamps = opcode.has("clamp");
  if (!clamps && !opcode.has("wrap")) return nullptr;
  if (opcode.has("l")) return clamps ? &funnel_shift<true, true> : &funnel_shift<true, false>;
  if (opcode.has("r")) return clamps ? &funnel_shift<false, true> : &funnel_shift<false, false>;
  return nullptr;
}

}  // namespace

Handler find_bits(const Opcode& opcode, Instruction&) {
  const std::string& name = opcode.name();
  if (name == "and") return find_bitwise<And>(opcode);
  if (name == "or") return find_bitwise<Or>(opcode);
  if (name == "xor") return find_bitwise<Xor>(opcode);
  if (name == "shl")
    return by_type(opcode.type(), Integers(), []<class T>() -> Handler { return &shift_left<T>; });
  if (name == "shr")
    return by_type(opcode.type(), Integers(), []<class T>() -> Handler { return &shift_right<T>; });
  if (name == "shf") return find_funnel_shift(opcode);
  if (name == "prmt" && opcode.size() == 2) return &permute;
  if (name == "lop3" && opcode.size() == 2) return &look_up;
  return nullptr;
}

}  // namespace cohom::ptx
