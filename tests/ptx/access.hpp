#pragma once
// Loads, stores and atomics of a thread.

#include "race_marks.hpp"
#include "thread.hpp"

#include <cstdint>

namespace cohom::ptx {

/// Where the bytes at an address of the instruction's space lie. Complains of races and of memory
/// that nobody wrote. @throws Fault where there is no memory, or it is not aligned
std::uint8_t* reach(Thread& thread, const Instruction& instruction, std::uint64_t address,
                    unsigned bytes, Access access);

}  // namespace cohom::ptx
