#pragma once
// What the operating system and the launcher let this process run on.

#include "topology/thread_set.hpp"

namespace cohom {

/// The hardware threads that any thread of this process may run on: a runtime of OpenMP may have
/// bound this one to its share of what the process was given. Empty: the system does not say.
ThreadSet own_threads();

}  // namespace cohom
