#pragma once
// What must be true in a fuzz target: where it is not, the input is a finding.

#include <cstdlib>

namespace cohom::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace cohom::fuzz
