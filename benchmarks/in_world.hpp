#pragma once
// What cohom-info does with the ranks of a job.

#include <functional>

namespace cohom::bench {

/// Initialises MPI, calls `body` and finalises MPI again. Collective; needs no launcher. @returns
/// what `body` returns, or 2 for the library's errors, which reach all ranks: rank 0 alone tells
/// them.
int run_in_world(const std::function<int()>& body);

}  // namespace cohom::bench
