#pragma once
// The parts of a call, for ScheduleRun: of cohom's, and of the native algorithms.

#include "plan/selector.hpp"
#include "scale/codec_times.hpp"
#include "scale/schedule_run.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohom::bench {

/// An allreduce of f32.
struct CallShape {
  std::string codec = "raw";       ///< with its parameters
  std::string algorithm = "auto";  ///< without an aggregator
  std::size_t elements = 0;
  int ranks = 2;
  std::size_t segment = 0;  ///< elements, as Options::segment; 0: the library's choice
  /// In the executor: so many elements of rank 0, far apart, are infinite.
  std::size_t outliers = 0;
  /// Null: work on elements takes no time.
  const MeasuredTimes* times = nullptr;
};

struct CallModel {
  std::string algorithm;  ///< which `auto` stands for
  std::vector<CallPart> parts = {};
  /// What the parts read.
  std::shared_ptr<const std::vector<std::uint32_t>> nodes = nullptr, switches = nullptr;
};

/// What `auto` stands for.
Selection select(const NetworkShape& network, const CallShape& shape);

/// cohom's own: agreement of the call, the codec's small rounds, its payload, and beside that the
/// agreement on a fallback round where the codec has one, which has no elements.
/// @throws std::runtime_error for codecs whose bytes are not known from these numbers
CallModel model_call(const NetworkShape& network, const CallShape& shape);

/// Plain f32 by one of our schedules as MPI libraries do it: without any agreement, and with one
/// message a step, however long. `shape.codec` is not used.
CallModel model_native(const CallShape& shape, const std::string& algorithm);

/// Of all ranks together, about: as many times what rank 0 sends.
std::uint64_t messages_of(const CallModel& model, int ranks);

struct NativeCall {
  std::string algorithm;
  SimulatedCall call;
};

/// The fastest of Rabenseifner's algorithm (`recursive_halving`), `recursive_doubling` and `ring`.
/// A ring whose 2 (n - 1) hops alone take longer than another one is not run.
NativeCall best_native(const NetworkShape& network, const CallShape& shape);

}  // namespace cohom::bench
