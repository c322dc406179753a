#pragma once
// What a process has run, as lines of a file. ptx_coverage adds up those of several processes.
//
//   registered<tab>KERNEL
//   ran<tab>KERNEL<tab>LAUNCHES<tab>BLOCKS<tab>STEPS<tab>RAN
//   complaint<tab>KERNEL<tab>TIMES<tab>TEXT
//   edited<tab>KERNEL<tab>TIMES
//
// RAN has a 0 or a 1 for each instruction: whether it ran.

#include "kernel.hpp"

#include <iosfwd>
#include <span>
#include <string>

namespace cohom::ptx {

void write_report(std::ostream& out, std::span<const std::string> registered,
                  std::span<const Kernel* const> kernels);

}  // namespace cohom::ptx
