// Jumps, barriers, and what does nothing here.

#include "find_handler.hpp"
#include "ptx/fault.hpp"
#include "slots.hpp"

namespace cohom::ptx {
namespace {

void jump(Thread& thread, const Instruction& i) {
  thread.next = static_cast<std::uint32_t>(i.offset);
}
void jump_by_table(Thread& thread, const Instruction& i) {
  const auto& table = thread.block->kernel->jump_tables[static_cast<std::size_t>(i.offset)];
  const auto index = get<std::uint32_t>(thread, i.from[0]);
  if (index >= table.size()) throw Fault("a jump beyond its targets");
  thread.next = table[index];
}
void leave(Thread& thread, const Instruction&) { thread.state = Thread::State::done; }
void trap(Thread&, const Instruction&) { throw Fault("trap"); }
void do_nothing(Thread&, const Instruction&) {}
void wait_for_block(Thread& thread, const Instruction&) {
  thread.state = Thread::State::waits_for_block;
}
void wait_for_warp(Thread& thread, const Instruction& i) {
  if (get<std::uint32_t>(thread, i.from[0]) != ~0u) throw Fault("a barrier of a part of a warp");
  thread.state = Thread::State::waits_for_warp;
}

}  // namespace

Handler find_control(const Opcode& opcode, Instruction&) {
  const std::string& name = opcode.name();
  if (name == "bra") return &jump;
  if (name == "brx") return &jump_by_table;
  if (name == "ret" || name == "exit") return &leave;
  if (name == "trap") return &trap;
  if (name == "bar" && opcode.has("warp")) return &wait_for_warp;
  if (opcode.is_one_of({"bar", "barrier"}) && opcode.has("sync")) return &wait_for_block;
  // Threads run one after the other, so fences have nothing to order.
  if (opcode.is_one_of({"membar", "fence", "nanosleep", "prefetch", "prefetchu"}))
    return &do_nothing;
  return nullptr;
}

}  // namespace cohom::ptx
