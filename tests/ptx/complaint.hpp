#pragma once
// What the interpreter says of kernels that do what they must not.

#include "thread.hpp"

#include <string>

namespace cohom::ptx {

/// Without the namespaces that all kernels are in.
std::string readable_name(const std::string& mangled);

/// "merge.cpp:94 (PTX line 12: ...) block 1 thread 2"
std::string place_of(const Thread& thread, const Instruction& instruction);

/// Counts it for the kernel, and prints the first one of its kind and line.
void complain(const Thread& thread, const Instruction& instruction, const std::string& what);

/// The same of what ends a kernel, whose place stands in `what`.
void complain_of_fault(Kernel& kernel, const std::string& what);

}  // namespace cohom::ptx
