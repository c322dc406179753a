// ld, st, atom, red.

#include "arithmetic.hpp"
#include "find_handler.hpp"
#include "ptx/access.hpp"
#include "slots.hpp"

#include <cstring>

namespace cohom::ptx {
namespace {

std::uint8_t* reach_operand(Thread& thread, const Instruction& i, unsigned bytes, Access access) {
  const std::uint64_t address = thread.slots[i.from[0]] + static_cast<std::uint64_t>(i.offset);
  return reach(thread, i, i.narrow_address ? static_cast<std::uint32_t>(address) : address, bytes,
               access);
}

template <class T>
void load(Thread& thread, const Instruction& i) {
  const std::uint8_t* const place = reach_operand(thread, i, sizeof(T) * i.parts, Access::read);
  for (unsigned k = 0; k < i.parts; ++k) {
    T value;
    std::memcpy(&value, place + k * sizeof(T), sizeof(T));
    put_extended(thread, i.to[k], value, i.width);
  }
}
template <class T>
void store(Thread& thread, const Instruction& i) {
  std::uint8_t* const place = reach_operand(thread, i, sizeof(T) * i.parts, Access::write);
  for (unsigned k = 0; k < i.parts; ++k)
    std::memcpy(place + k * sizeof(T), thread.slots + i.from[1 + k], sizeof(T));
}

struct Exchange {
  template <class T>
  T operator()(T, T b) const {
    return b;
  }
};
/// To a bound, and then 0; and down from there.
struct Increment {
  template <class T>
  T operator()(T a, T b) const {
    return a >= b ? T{0} : static_cast<T>(a + 1);
  }
};
struct Decrement {
  template <class T>
  T operator()(T a, T b) const {
    return a == 0 || a > b ? b : static_cast<T>(a - 1);
  }
};

/// `red` has no destination.
template <class T, class Operation>
void update(Thread& thread, const Instruction& i) {
  std::uint8_t* const place = reach_operand(thread, i, sizeof(T), Access::atomic);
  T before;
  std::memcpy(&before, place, sizeof(T));
  const T after = Operation()(before, get<T>(thread, i.from[1]));
  std::memcpy(place, &after, sizeof(T));
  put(thread, i.to[0], before);
}
template <class T>
void compare_and_swap(Thread& thread, const Instruction& i) {
  std::uint8_t* const place = reach_operand(thread, i, sizeof(T), Access::atomic);
  T before;
  std::memcpy(&before, place, sizeof(T));
  if (before == get<T>(thread, i.from[1])) std::memcpy(place, thread.slots + i.from[2], sizeof(T));
  put(thread, i.to[0], before);
}

template <class Operation>
Handler find_update(const Opcode& opcode) {
  using Whole = Types<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>;
  return by_type(opcode.type(), Whole(),
                 []<class T>() -> Handler { return &update<T, Operation>; });
}
Handler find_atomic(const Opcode& opcode) {
  if (opcode.has("add")) return find_update<Add>(opcode);
  if (opcode.has("and")) return find_update<And>(opcode);
  if (opcode.has("or")) return find_update<Or>(opcode);
  if (opcode.has("xor")) return find_update<Xor>(opcode);
  if (opcode.has("min")) return find_update<Minimum>(opcode);
  if (opcode.has("max")) return find_update<Maximum>(opcode);
  if (opcode.has("exch")) return find_update<Exchange>(opcode);
  if (opcode.has("inc")) return find_update<Increment>(opcode);
  if (opcode.has("dec")) return find_update<Decrement>(opcode);
  if (opcode.has("cas"))
    return by_type(opcode.type(), Words(),
                   []<class T>() -> Handler { return &compare_and_swap<T>; });
  return nullptr;
}

/// Floats are moved as their bits.
std::string moved_type(const std::string& type) {
  return type == "f32" || type == "f64" ? "b" + type.substr(1) : type;
}

}  // namespace

Handler find_memory(const Opcode& opcode, Instruction&) {
  const std::string& name = opcode.name();
  const auto all = Integers() + Bytes();
  if (name == "ld" || name == "ldu")
    return by_type(moved_type(opcode.type()), all, []<class T>() -> Handler { return &load<T>; });
  if (name == "st")
    return by_type(moved_type(opcode.type()), all, []<class T>() -> Handler { return &store<T>; });
  if (name == "atom" || name == "red") return find_atomic(opcode);
  return nullptr;
}

}  // namespace cohom::ptx
