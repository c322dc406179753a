#pragma once
// Numbers that nobody can guess: keys, epochs, nonces.

#include "aggregation/net/endpoint.hpp"

#include <sys/random.h>

#include <cstdint>

namespace cohom::offload {

/// 64 random bits of the system's, never 0, which stands for none. @throws Error(transport)
inline std::uint64_t random_word() {
  std::uint64_t word = 0;
  while (word == 0)
    if (::getrandom(&word, sizeof word, 0) != sizeof word) throw_system_error("getrandom");
  return word;
}

}  // namespace cohom::offload
