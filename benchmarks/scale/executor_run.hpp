#pragma once
// ExecutorRun: the library itself on all ranks of a simulated network: its calls, plans, agreement,
// executor and codecs, with their kernels.

#include "scale/call_model.hpp"
#include "scale/message_trace.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::bench {

struct ExecutedCall {
  SimulatedCall call;
  /// Of each rank's result: XXH3 of its bytes.
  std::vector<std::uint64_t> hashes = {};

  /// Whether all ranks have the same bits.
  [[nodiscard]] bool identical() const;
};

/// Element `index` of a rank's vector: normal numbers that differ from rank to rank.
void fill_simulated_input(int rank, std::span<float> vector);

/// Takes memory for the vectors and workspaces of all ranks. `shape.times` is not used: kernels
/// run, and take no virtual time. `trace` gets the messages.
/// @throws Error of the call; std::runtime_error when ranks wait for ever
ExecutedCall run_executors(const NetworkShape& network, const CallShape& shape,
                           MessageTrace* trace = nullptr);

}  // namespace cohom::bench
