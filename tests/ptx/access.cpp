#include "access.hpp"

#include "complaint.hpp"
#include "device_memory.hpp"
#include "fault.hpp"
#include "settings.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

namespace cohom::ptx {
namespace {

/// Of the device's memory; pages come when used.
ByteMarks* map_marks() {
  void* const marks = mmap(nullptr, DeviceMemory::size * sizeof(ByteMarks), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (marks == MAP_FAILED) throw std::bad_alloc();
  return static_cast<ByteMarks*>(marks);
}
ByteMarks* device_marks() {
  static ByteMarks* const marks = map_marks();
  return marks;
}

void look_for_race(Thread& thread, const Instruction& instruction, ByteMarks* marks, unsigned bytes,
                   Access access) {
  const Block& block = *thread.block;
  Touch now;
  now.launch = block.launch;
  now.block = block.number;
  now.block_phase = block.phase;
  now.warp_phase = block.warp_phases[thread.warp()];
  now.line = block.kernel->origin(instruction).line;
  now.thread = thread.number;
  now.atomic = access == Access::atomic;
  const auto conflict = note_access(marks, bytes, now, access);
  if (!conflict) return;
  complain(thread, instruction,
           std::string("race: ") + conflict->what + ", other at PTX line " +
               std::to_string(conflict->other.line) + " by block " +
               std::to_string(conflict->other.block) + " thread " +
               std::to_string(conflict->other.thread));
}

std::uint8_t* reach_shared(Thread& thread, const Instruction& instruction, std::uint64_t address,
                           unsigned bytes, Access access) {
  Block& block = *thread.block;
  if (address > block.shared.size() || bytes > block.shared.size() - address)
    throw Fault("beyond shared memory: byte " + std::to_string(address) + " of " +
                std::to_string(block.shared.size()));
  std::uint8_t* const written = block.shared_written.data() + address;
  if (access != Access::write && std::find(written, written + bytes, 0) != written + bytes)
    complain(thread, instruction, "reads shared memory that nobody wrote");
  if (access != Access::read) std::memset(written, 1, bytes);
  if (!block.shared_marks.empty())
    look_for_race(thread, instruction, block.shared_marks.data() + address, bytes, access);
  return block.shared.data() + address;
}

std::uint8_t* reach_local(Thread& thread, std::uint64_t address, unsigned bytes) {
  const std::size_t size = thread.block->kernel->local_bytes;
  if (address > size || bytes > size - address) throw Fault("beyond local memory");
  return thread.local + address;
}

std::uint8_t* reach_parameters(Thread& thread, std::uint64_t address, unsigned bytes,
                               Access access) {
  const std::size_t size = thread.block->kernel->parameter_bytes;
  if (access != Access::read) throw Fault("writes to parameters");
  if (address > size || bytes > size - address) throw Fault("beyond the parameters");
  return const_cast<std::uint8_t*>(thread.block->parameters) + address;  // only read
}

std::uint8_t* reach_global(Thread& thread, const Instruction& instruction, std::uint64_t address,
                           unsigned bytes, Access access) {
  DeviceMemory& memory = DeviceMemory::instance();
  auto* const place = reinterpret_cast<std::uint8_t*>(address);
  if (!memory.holds(place)) {
    if (memory.is_pinned(place, bytes)) return place;
    throw Fault("an illegal address, which is not the device's");
  }
  const std::size_t offset = memory.offset(place);
  std::uint8_t* const state = memory.state(offset);
  bool all_allocated = true, all_written = true;
  for (unsigned i = 0; i < bytes; ++i) {
    all_allocated &= (state[i] & DeviceMemory::allocated) != 0;
    all_written &= (state[i] & DeviceMemory::written) != 0;
  }
  if (!all_allocated) throw Fault("an illegal address, outside of what was allocated");
  if (access != Access::write && !all_written)
    complain(thread, instruction, "reads device memory that nobody wrote");
  if (access != Access::read)
    std::memset(state, DeviceMemory::allocated | DeviceMemory::written, bytes);
  if (Settings::instance().races)
    look_for_race(thread, instruction, device_marks() + offset, bytes, access);
  return memory.view(offset);
}

/// The space that a generic address is in; the address becomes that space's own.
Space resolve_generic(std::uint64_t& address) {
  const std::uint64_t window = address & window_mask;
  if (window == 0) return Space::global;
  address -= window;
  switch (window) {
    case shared_window: return Space::shared;
    case local_window: return Space::local;
    case parameter_window: return Space::parameter;
    default: throw Fault("an illegal address, which is in no space");
  }
}

}  // namespace

std::uint8_t* reach(Thread& thread, const Instruction& instruction, std::uint64_t address,
                    unsigned bytes, Access access) {
  Space space = instruction.space;
  if (space == Space::generic || space == Space::parameter) {
    const Space found = resolve_generic(address);
    if (space == Space::parameter && found != space) throw Fault("no address of a parameter");
    space = found;
  }
  if (address % bytes != 0)
    throw MisalignedFault("a misaligned address: " + std::to_string(bytes) + " bytes, off by " +
                          std::to_string(address % bytes));
  switch (space) {
    case Space::shared: return reach_shared(thread, instruction, address, bytes, access);
    case Space::local: return reach_local(thread, address, bytes);
    case Space::parameter: return reach_parameters(thread, address, bytes, access);
    default: return reach_global(thread, instruction, address, bytes, access);
  }
}

}  // namespace cohom::ptx
