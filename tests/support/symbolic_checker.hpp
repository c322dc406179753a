#pragma once
// Symbolic checker: runs the schedules of all ranks on merge trees instead of words.

#include "schedule/schedule.hpp"
#include "support/schedule_rules.hpp"

#include <span>
#include <string>
#include <vector>

namespace cohom::testing {

/// Checks the schedules of ranks 0 ... n-1, every chunk being cut into `units` units. Returns what
/// is wrong, one line each; empty when
/// - every schedule keeps the rules of schedule_rules.hpp;
/// - every send meets a receive of the same ranks, sequence, chunk, form and contributions;
/// - every slot holds as many contributions as it declares, no rank's twice;
/// - every rank decodes what it is said to want, and nothing else;
/// - every decoded sum holds every rank's contribution, merged in the same order on all ranks;
/// - nobody hangs, neither when steps run whenever their sources are ready nor when each rank has
///   one send and one receive open, both in step order, and a send ends when its receive is open.
std::vector<std::string> check_schedules(std::span<const Schedule> schedules, std::uint32_t units,
                                         const Wanted& wanted = {});

}  // namespace cohom::testing
