#pragma once
// The kernel tables that tests compare: of every instruction set, and of devices.

#include "kernels/table/kernel_table.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace cohom::test {

struct TestedTable {
  std::string name;
  const kernels::KernelTable* table;

  friend void PrintTo(const TestedTable& tested, std::ostream* out) { *out << tested.name; }
};

/// The reference first. Tables of devices (host_called.hpp) are among them: of the emulated one,
/// and of this machine's first one where there is one.
std::vector<TestedTable> tested_tables();

/// Those that are compared with the reference.
std::vector<TestedTable> tables_beside_reference();

/// Why there is no device of this machine's own among them; empty if there is.
const std::string& why_no_device();

/// For INSTANTIATE_TEST_SUITE_P.
inline constexpr auto table_name = [](const auto& instance) { return instance.param.name; };

}  // namespace cohom::test
