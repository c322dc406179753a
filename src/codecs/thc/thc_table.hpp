#pragma once
// The numbers behind thc: the clamping threshold and the optimal table of levels. Computed with + -
// * / on doubles only, which IEEE 754 makes equal on every machine (libm is not): all ranks must
// come to the same table.

#include "kernels/thc/thc.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

/// t_p: a standard normal variable exceeds it in magnitude with probability `tail` (0 < tail < 1).
double normal_tail_threshold(double tail);

/// The 2^bits levels 0 = T[0] < T[1] < ... = granularity, T[k] + T[last-k] = granularity, for which
/// unbiased rounding of a standard normal variable between neighbouring levels, level k at
/// threshold * (2 T[k] / granularity - 1), has the least variance. Ties go to the lexicographically
/// smallest. Needs 1 <= bits <= 8 and granularity >= 2^bits - 1; O(2^bits granularity^2).
/// The problem is from Li et al., THC (NSDI'24), section 5; solving it by this programme is ours.
std::vector<std::uint16_t> optimal_levels(unsigned bits, std::uint32_t granularity,
                                          double threshold);

/// Variance that unbiased rounding of a standard normal variable to `intervals` equal intervals of
/// [-threshold, threshold] adds, and what clamping it to them loses of its energy. No optimal table
/// with these levels in its grid adds more.
double equal_levels_variance(std::uint32_t intervals, double threshold);
double clamped_energy(double threshold);

/// Squared error of rounding a standard normal variable to these levels, clamping included:
/// relative to its variance. Not part of any bits. Feedback of an error of 1 or more grows from
/// call to call.
double rounding_loss(std::span<const std::uint16_t> levels, double threshold, bool nearest);

/// For every cell [x, x+1) of 0..granularity the table interval that holds it; one more entry for
/// the upper end itself, which belongs to the last interval.
std::vector<kernels::ThcCell> cells_of_levels(std::span<const std::uint16_t> levels);

}  // namespace cohom
