// mul.wide and mad, and sums that take or give a carry.

#include "arithmetic.hpp"
#include "find_handler.hpp"
#include "slots.hpp"

namespace cohom::ptx {
namespace {

/// Twice as many bits.
template <class T>
using Wider =
    std::conditional_t<sizeof(T) == 2,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

template <class T>
Wider<T> wide_product(const Thread& thread, const Instruction& i) {
  return Multiply()(static_cast<Wider<T>>(get<T>(thread, i.from[0])),
                    static_cast<Wider<T>>(get<T>(thread, i.from[1])));
}
template <class T>
void multiply_wide(Thread& thread, const Instruction& i) {
  put(thread, i.to[0], wide_product<T>(thread, i));
}
template <class T>
void multiply_wide_add(Thread& thread, const Instruction& i) {
  put(thread, i.to[0], Add()(wide_product<T>(thread, i), get<Wider<T>>(thread, i.from[2])));
}
template <class T, class Product>
void multiply_add(Thread& thread, const Instruction& i) {
  const T product = Product()(get<T>(thread, i.from[0]), get<T>(thread, i.from[1]));
  put<T>(thread, i.to[0], Add()(product, get<T>(thread, i.from[2])));
}

using Exact = unsigned __int128;

/// Keeps the carry where the opcode says ".cc".
template <class T, bool gives>
void put_sum(Thread& thread, const Instruction& i, Exact sum) {
  put<T>(thread, i.to[0], static_cast<T>(sum));
  if (gives) thread.carry = (sum >> (8 * sizeof(T)) & 1) != 0;
}
/// Borrows set the bit above the result as carries do.
template <class T, bool subtracts, bool takes, bool gives>
void carried(Thread& thread, const Instruction& i) {
  const Exact a = get<T>(thread, i.from[0]), b = get<T>(thread, i.from[1]);
  const Exact carry = takes && thread.carry ? 1 : 0;
  put_sum<T, gives>(thread, i, subtracts ? a - b - carry : a + b + carry);
}
template <class T, class Product, bool takes, bool gives>
void multiply_carried(Thread& thread, const Instruction& i) {
  const Exact product = Product()(get<T>(thread, i.from[0]), get<T>(thread, i.from[1]));
  const Exact carry = takes && thread.carry ? 1 : 0;
  put_sum<T, gives>(thread, i, product + Exact(get<T>(thread, i.from[2])) + carry);
}

template <bool subtracts, bool takes>
Handler find_carried(const Opcode& opcode) {
  const bool gives = opcode.has("cc");
  if (!takes && !gives) return nullptr;  // a plain one
  // Carries are those of unsigned integers, whatever the type.
  const std::string bits = "u" + opcode.type().substr(1);
  return by_type(bits, Words(), [&]<class T>() -> Handler {
    return gives ? &carried<T, subtracts, takes, true> : &carried<T, subtracts, takes, false>;
  });
}
template <class Product, bool takes>
Handler find_multiply_carried(const Opcode& opcode) {
  const bool gives = opcode.has("cc");
  return by_type(opcode.type(), Words(), [&]<class T>() -> Handler {
    return gives ? &multiply_carried<T, Product, takes, true>
                 : &multiply_carried<T, Product, takes, false>;
  });
}

Handler find_multiply_add(const Opcode& opcode) {
  const bool high = opcode.has("hi");
  if (opcode.name() == "madc")
    return high ? find_multiply_carried<MultiplyHigh, true>(opcode)
                : find_multiply_carried<Multiply, true>(opcode);
  if (opcode.has("cc"))
    return high ? find_multiply_carried<MultiplyHigh, false>(opcode)
                : find_multiply_carried<Multiply, false>(opcode);
  return by_type(opcode.type(), Integers(), [&]<class T>() -> Handler {
    return high ? &multiply_add<T, MultiplyHigh> : &multiply_add<T, Multiply>;
  });
}

}  // namespace

Handler find_wide(const Opcode& opcode, Instruction&) {
  using Narrow = Types<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t>;
  const std::string& name = opcode.name();
  if (opcode.has("sat")) return nullptr;
  if (name == "add") return find_carried<false, false>(opcode);
  if (name == "sub") return find_carried<true, false>(opcode);
  if (name == "addc") return find_carried<false, true>(opcode);
  if (name == "subc") return find_carried<true, true>(opcode);
  if (name == "mul" && opcode.has("wide"))
    return by_type(opcode.type(), Narrow(), []<class T>() -> Handler { return &multiply_wide<T>; });
  if (name == "mad" && opcode.has("wide"))
    return by_type(opcode.type(), Narrow(),
                   []<class T>() -> Handler { return &multiply_wide_add<T>; });
  if (name == "mad" || name == "madc") return find_multiply_add(opcode);
  return nullptr;
}

}  // namespace cohom::ptx
