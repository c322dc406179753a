// add, sub, mul, div, rem, min, max and fma of one type.

#include "arithmetic.hpp"

#include "find_handler.hpp"
#include "rounding.hpp"
#include "slots.hpp"

namespace cohom::ptx {
namespace {

template <class T, class Operation>
void binary(Thread& thread, const Instruction& i) {
  put<T>(thread, i.to[0], Operation()(get<T>(thread, i.from[0]), get<T>(thread, i.from[1])));
}

template <class T>
void fused(Thread& thread, const Instruction& i) {
  const T a = get<T>(thread, i.from[0]), b = get<T>(thread, i.from[1]);
  const T c = get<T>(thread, i.from[2]);
  put<T>(thread, i.to[0], settled(std::fma(a, b, c), a, b));
}

template <class Operation>
Handler of_numbers(const Opcode& opcode) {
  return by_type(opcode.type(), numbers(),
                 []<class T>() -> Handler { return &binary<T, Operation>; });
}
template <class Operation>
Handler of_integers(const Opcode& opcode) {
  return by_type(opcode.type(), Integers(),
                 []<class T>() -> Handler { return &binary<T, Operation>; });
}

}  // namespace

Handler find_arithmetic(const Opcode& opcode, Instruction& instruction) {
  const bool real = opcode.type() == "f32" || opcode.type() == "f64";
  if (opcode.has("cc") || opcode.has("sat")) return nullptr;
  if (real && !is_to_nearest(opcode)) return nullptr;
  const std::string& name = opcode.name();
  if (name == "add") return of_numbers<Add>(opcode);
  if (name == "sub") return of_numbers<Subtract>(opcode);
  if (name == "mul" && opcode.has("hi")) return of_integers<MultiplyHigh>(opcode);
  if (name == "mul" && !opcode.has("wide")) return of_numbers<Multiply>(opcode);
  if (name == "div") return of_numbers<Divide>(opcode);
  if (name == "rem") return of_integers<Remainder>(opcode);
  const bool of_three = instruction.from[2] != no_slot;
  if (opcode.has("NaN") || opcode.has("xorsign") || opcode.has("abs")) return nullptr;
  if (name == "min" && !of_three) return of_numbers<Minimum>(opcode);
  if (name == "max" && !of_three) return of_numbers<Maximum>(opcode);
  if (name == "copysign")
    return by_type(opcode.type(), Reals(),
                   []<class T>() -> Handler { return &binary<T, CopySign>; });
  if (name == "fma" || (name == "mad" && real))
    return by_type(opcode.type(), Reals(), []<class T>() -> Handler { return &fused<T>; });
  return nullptr;
}

}  // namespace cohom::ptx
