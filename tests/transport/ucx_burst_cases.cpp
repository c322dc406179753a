// Bursts of deaths by number; scripts/long-check bursts runs many.
//
//   ucx_burst_cases FIRST COUNT   prints each burst that did not end as it should, and a summary

#include "ucx_burst.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace cohom::testing;

int main(int arguments, char** argument) {
  if (arguments != 3) {
    std::fprintf(stderr, "usage: ucx_burst_cases FIRST COUNT\n");
    return 2;
  }
  setenv("COHOM_LOG", "off", 1);
  const std::uint64_t first = std::strtoull(argument[1], nullptr, 0);
  const std::uint64_t count = std::strtoull(argument[2], nullptr, 0);
  BurstReport all;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const BurstReport report = run_burst(Burst(seed));
    all.survivors += report.survivors;
    all.aborted += report.aborted;
    all.hung += report.hung;
    all.wrong += report.wrong;
    if (report.aborted + report.hung + report.wrong == 0) continue;
    std::printf("burst %lu: %d survivors aborted, %d hung, %d wrong (of %d)\n",
                static_cast<unsigned long>(seed), report.aborted, report.hung, report.wrong,
                report.survivors);
    std::fflush(stdout);
  }
  std::printf("%lu bursts, %d survivors aborted, %d hung, %d wrong (of %d)\n",
              static_cast<unsigned long>(count), all.aborted, all.hung, all.wrong, all.survivors);
  return all.aborted + all.hung + all.wrong == 0 ? 0 : 1;
}
