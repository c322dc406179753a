#pragma once
// DataPath: how the words of one session travel between this rank and its aggregator.

#include "aggregation/client/control_client.hpp"
#include "aggregation/client/send_window.hpp"
#include "aggregation/protocol/control_message.hpp"

#include <cohom/error.hpp>

#include <netinet/in.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>

namespace cohom::offload {

/// Packets or messages of this rank.
struct PathCounters {
  std::uint64_t sent = 0;      ///< all of them
  std::uint64_t repeated = 0;  ///< of these, sent before
  std::uint64_t sums = 0;
  std::uint64_t waiting = 0;  ///< answers that others are missing
  std::uint64_t stale = 0;    ///< answers that nobody waits for
  std::uint64_t foreign = 0;  ///< from others than the aggregator, or of another session
};

struct PathSetup {
  Admitted admitted;
  sockaddr_in control{};  ///< the aggregator's control channel, as this rank reaches it
  GroupMembership membership;
  ClientOptions options;
  std::stop_token stop = {};  ///< of whoever calls meet()
};

/// Made by the thread that keeps the control channel, which meets the aggregator; from then on used
/// by the caller's thread alone.
class DataPath {
 public:
  virtual ~DataPath() = default;

  /// Where the aggregator's messages reach this rank, for the control channel; none: nowhere.
  [[nodiscard]] virtual std::optional<UcxAddress> own_address() const { return std::nullopt; }
  /// Shows the aggregator where this worker is; whether it has answered. Blocks for some
  /// milliseconds at most, the first time for some seconds where PathSetup::stop does not end that;
  /// to be called until it is true. @throws Error(transport)
  virtual bool meet() = 0;

  /// Sequences enter in the same order on all ranks, and leave before they go. Once one has left,
  /// its memory is not touched any more.
  virtual void enter(ReductionSequence& reductions) = 0;
  virtual void leave(const ReductionSequence& reductions) = 0;
  /// Takes what has arrived, sends what may leave. @throws Error(transport): the session is over.
  virtual void progress() = 0;
  [[nodiscard]] virtual const PathCounters& counters() const = 0;
};

// What data paths have in common.

/// What everything that this rank sends in the session begins with.
cohom_header blank_header(const PathSetup& setup);

/// Why a session ends in which a rank, or the aggregator, was waited for in vain.
Error too_late(std::chrono::milliseconds patience);
Error too_silent(std::chrono::milliseconds patience);

}  // namespace cohom::offload
