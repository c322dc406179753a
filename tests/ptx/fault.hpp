#pragma once
// Fault: what a device does not recover from, or what the interpreter does not know.

#include <stdexcept>

namespace cohom::ptx {

struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An address that is not a multiple of what is read there.
struct MisalignedFault : Fault {
  using Fault::Fault;
};

}  // namespace cohom::ptx
