#pragma once
// Memory that is missing where a test says so: for programs with failing_memory.cpp among their
// sources, whose operator new it replaces.

#include <atomic>

namespace cohom::test {

/// Allocations of this thread until one fails; negative: none does.
extern constinit thread_local long allocations_left;
/// The same of all threads together that are not spared.
extern constinit std::atomic<long> others_allocations_left;
extern constinit thread_local bool spared;
/// That failed so far, of all threads.
extern constinit std::atomic<long> allocations_failed;

}  // namespace cohom::test
