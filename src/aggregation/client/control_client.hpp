#pragma once
// What a rank needs to have its words summed by a cohom-aggregator.

#include "aggregation/auth/allowed_users.hpp"
#include "aggregation/auth/job_key.hpp"
#include "aggregation/net/endpoint.hpp"

#include <cohom/offload.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohom::offload {

/// Who this rank is in its group. Rank 0 draws the job's secret and counts `group`; both are alike
/// on all ranks.
struct GroupMembership {
  JobKey job;
  std::uint32_t group = 0;
  int rank = 0;
  int ranks = 1;
};

class DataPath;
struct PathSetup;
/// Makes the data path of a session. @throws Error(transport)
using MakeDataPath = std::function<std::unique_ptr<DataPath>(const PathSetup&)>;

struct ClientOptions {
  std::string token;
  std::optional<AllowedUsers> munge = {};  ///< in its place: the users who may be the aggregator
  /// How aggregators of kind `daemon` are reached. Empty: they are not.
  MakeDataPath messages = {};
  std::size_t payload_bytes = 8192;       ///< of a packet; less where the path carries less
  std::size_t message_bytes = 256 << 10;  ///< of words in a message, most to ask a daemon for
  std::uint32_t slots = 256;              ///< most to ask for
  /// How long the aggregator may be silent, and the other ranks late, until a reduction fails.
  std::chrono::milliseconds silence{4000};
  std::chrono::milliseconds lateness{60000};
  /// Between attempts to connect; doubles up to 16 times that.
  std::chrono::milliseconds retry{250};

  /// In which order that many packets leave, some never, some twice: for tests. Empty: as they
  /// come.
  using PacketOrder = std::function<const std::vector<std::size_t>&(std::size_t packets)>;
  PacketOrder packet_order = {};
};

/// A client for one rank, which connects in the background and connects again when the aggregator
/// was away. Local and does not block. The client has one thread, which sleeps while all is well,
/// and never calls MPI. It may fail: Aggregator::may_fail().
std::shared_ptr<Aggregator> connect_aggregator(const Endpoint& address,
                                               const GroupMembership& membership,
                                               const ClientOptions& options);

}  // namespace cohom::offload
