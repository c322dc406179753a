#pragma once
// Core files of processes that have secrets, or that are there to crash.

#include <sys/resource.h>

#include <algorithm>

namespace cohom {

/// This process leaves none from now on, nor do those that it starts; false: errno says why not.
inline bool have_no_core_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0) return false;
  // One byte is no core file either, and where a program takes cores Linux heeds this value alone.
  limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(limit.rlim_max, 1);
  return ::setrlimit(RLIMIT_CORE, &limit) == 0;
}

}  // namespace cohom
