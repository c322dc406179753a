#pragma once
// Proof of single chunks among thousands of ranks, where symbolic_checker.hpp would take too long.

#include "schedule/algorithms/algorithm.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohom::testing {

/// Follows each of `chunks` from every rank's contribution to every rank's output. Returns what is
/// wrong, at most a few lines; empty when
/// - every message about the chunk has a sender and a receiver, who agree on what it is;
/// - every slot holds as many contributions as it declares, no rank's twice;
/// - every rank decodes the chunk once, from all contributions.
std::vector<std::string> check_chunks(const AlgorithmRow& algorithm, int ranks,
                                      std::span<const std::uint32_t> chunks);

}  // namespace cohom::testing
