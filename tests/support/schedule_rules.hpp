#pragma once
// What must hold for the schedule of one rank alone, whatever the other ranks do.

#include "schedule/schedule.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cohom::testing {

/// Whether a rank gets the sum of a chunk. Empty: it does.
using Wanted = std::function<bool(int rank, std::uint32_t chunk)>;

/// Every schedule keeps its sequence ids below this, so that a tag has bits left for other uses.
inline constexpr std::uint32_t sequence_id_limit = 65536 / 4;

/// Returns what is wrong, one line each; empty when the schedule keeps all rules:
/// - every slot is written once, before it is read, and is read at least once;
/// - merged slots are of one chunk and form, and the result is wide;
/// - a slot replaced in its buffer is read by the replacing step only, so no executor that runs
///   steps whenever their sources are ready can destroy what is still needed;
/// - a contribution is replaced only by an offload;
/// - every chunk is encoded once, and decoded once or, where it is not `wanted`, never;
/// - no two messages between the same ranks share a sequence.
std::vector<std::string> check_rules(const Schedule& schedule, const Wanted& wanted = {});

}  // namespace cohom::testing
