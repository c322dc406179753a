#pragma once
// Values in a thread's slots.

#include "ptx/thread.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cohom::ptx {

template <class T>
T get(const Thread& thread, Slot slot) {
  T value;
  std::memcpy(&value, thread.slots + slot, sizeof value);
  return value;
}

/// The upper bytes become 0. No slot: "_", which takes nothing.
template <class T>
void put(Thread& thread, Slot slot, T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  if (slot != no_slot) thread.slots[slot] = bits;
}

inline bool get_predicate(const Thread& thread, Slot slot) { return (thread.slots[slot] & 1) != 0; }
inline void put_predicate(Thread& thread, Slot slot, bool value) {
  if (slot != no_slot) thread.slots[slot] = value ? 1 : 0;
}

/// An integer in a register of so many bytes, which may be more than its own: it keeps its value.
template <class T>
void put_extended(Thread& thread, Slot slot, T value, unsigned width) {
  auto bits = std::is_signed_v<T> ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                                  : static_cast<std::uint64_t>(value);
  if (width < 8) bits &= (std::uint64_t{1} << (8 * width)) - 1;
  if (slot != no_slot) thread.slots[slot] = bits;
}

}  // namespace cohom::ptx
