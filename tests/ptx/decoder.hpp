#pragma once
// From the statements of a kernel to what is run.

#include "kernel.hpp"
#include "statement.hpp"

#include <vector>

namespace cohom::ptx {

/// Fills a kernel whose module and name are set. An instruction that is not supported becomes a
/// complaint of the kernel's, and a fault where it is run. @throws Fault for anything else that it
/// cannot read
void decode(Kernel& kernel, const std::vector<Statement>& statements);

}  // namespace cohom::ptx
