// ptx_coverage [--part] REPORT...: prints what ran of each kernel; fails where one never did, or
// one gave rise to a complaint. With --part the reports are of a part of the tests: complaints
// alone count.

#include "coverage.hpp"

#include <exception>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>

namespace {

int run(std::span<char*> arguments) {
  cohom::ptx::Coverage coverage;
  bool part = false;
  for (const std::string argument : arguments) {
    if (argument == "--part") {
      part = true;
      continue;
    }
    std::ifstream report(argument);
    if (!report) throw std::runtime_error("cannot read " + argument);
    coverage.add(report);
  }
  if (coverage.registered() == 0) throw std::runtime_error("no report tells of a kernel");
  if (!part) coverage.print_table(std::cout);
  coverage.print_complaints(std::cout);
  if (coverage.edited() != 0) std::cout << coverage.edited() << " kernels were edited\n";
  return coverage.complaints() == 0 && (part || coverage.never_run().empty()) ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::cerr << "ptx_coverage: " << error.what() << '\n';
    return 2;
  }
}
