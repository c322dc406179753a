// mov, of values and of the parts of vectors, and cvta.

#include "find_handler.hpp"
#include "ptx/text.hpp"
#include "slots.hpp"
#include "types.hpp"

namespace cohom::ptx {
namespace {

template <class T>
void move(Thread& thread, const Instruction& i) {
  put<T>(thread, i.to[0], get<T>(thread, i.from[0]));
}

/// The first part lies lowest.
template <class Part>
void pack(Thread& thread, const Instruction& i) {
  std::uint64_t bits = 0;
  for (unsigned k = 0; k < i.parts; ++k)
    bits |= std::uint64_t{get<Part>(thread, i.from[k])} << (8 * sizeof(Part) * k);
  put(thread, i.to[0], bits);
}
template <class Part>
void unpack(Thread& thread, const Instruction& i) {
  const std::uint64_t bits = thread.slots[i.from[0]];
  for (unsigned k = 0; k < i.parts; ++k)
    put(thread, i.to[k], static_cast<Part>(bits >> (8 * sizeof(Part) * k)));
}

/// Of "b64" in two parts: "b32".
std::string part_type(const std::string& type, unsigned parts) {
  return "b" + std::to_string(8 * bytes_of_type("." + type) / parts);
}

void add_window(Thread& thread, const Instruction& i) {
  put(thread, i.to[0], thread.slots[i.from[0]] + static_cast<std::uint64_t>(i.offset));
}

}  // namespace

Handler find_move(const Opcode& opcode, Instruction& instruction) {
  using Parts = Types<std::uint8_t, std::uint16_t, std::uint32_t>;
  const std::string& name = opcode.name();
  if (name == "mov" && opcode.type() == "pred") return &move<std::uint64_t>;
  if (name == "mov")
    return by_type(opcode.type(), numbers(), []<class T>() -> Handler { return &move<T>; });
  if (name == "window") return &add_window;
  if (name != "pack" && name != "unpack") return nullptr;
  return by_type(part_type(opcode.type(), instruction.parts), Parts(),
                 [&]<class T>() -> Handler { return name == "pack" ? &pack<T> : &unpack<T>; });
}

}  // namespace cohom::ptx
