#pragma once
// Launches.

#include "kernel.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace cohom::ptx {

struct LaunchShape {
  unsigned blocks = 1, threads = 1;  ///< in one dimension
};

/// The parameters as they lie in parameter space, from pointers to each.
std::vector<std::uint8_t> gather_parameters(const Kernel& kernel, void* const* arguments);

/// Runs all blocks, in random order. One at a time in a process. @throws Fault
void launch(Kernel& kernel, LaunchShape shape, std::span<const std::uint8_t> parameters);

}  // namespace cohom::ptx
