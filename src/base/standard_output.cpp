#include "base/standard_output.hpp"

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cohom {

void flush_standard_output() {
  errno = 0;
  const bool streams = bool(std::cout.flush());
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && streams) return;
  const std::string why = errno == 0 ? "" : ": " + std::generic_category().message(errno);
  throw std::runtime_error("standard output: cannot be written" + why);
}

}  // namespace cohom
