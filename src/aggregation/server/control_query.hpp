#pragma once
// What one asks an aggregator without being a worker.

#include "aggregation/auth/allowed_users.hpp"
#include "aggregation/auth/job_key.hpp"
#include "aggregation/protocol/control_message.hpp"

#include <netinet/in.h>

#include <optional>
#include <string>

namespace cohom::offload {

/// Who asks. The site's token gives totals, an operator's all jobs, and a job's key that job. By
/// munge the aggregator's own user and root are told of all jobs.
struct StatusQuery {
  std::string token;
  Credential credential = Credential::token;
  std::optional<JobKey> job = {};
  std::optional<AllowedUsers> munge = {};  ///< in place of a token
};

/// The aggregator's status as JSON. Blocks for at most some seconds.
/// @throws Error(transport) when it does not answer, or refuses.
std::string query_status(const sockaddr_in& address, const StatusQuery& query);

}  // namespace cohom::offload
