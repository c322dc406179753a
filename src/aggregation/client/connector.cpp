// Connecting to aggregators by their address.

#include "aggregation/client/connector.hpp"
#include "aggregation/auth/job_key_file.hpp"
#include "aggregation/auth/site_auth.hpp"
#include "aggregation/auth/token_source.hpp"

#include <cohom/error.hpp>
#include <cohom/offload.hpp>

#include <xxhash.h>

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace cohom {

namespace {

constexpr std::chrono::seconds patience{1};
constexpr std::chrono::milliseconds poll_interval{1};

/// All ranks are here at the same time, so a group that can form does it in milliseconds; and calls
/// need no other algorithm first.
void wait_until_ready(Aggregator& aggregator) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!aggregator.ready() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(poll_interval);
}

}  // namespace

namespace offload {

ConnectAggregator connector(const JobSecret& job, int rank, int ranks,
                            const ClientOptions& options) {
  return [=](const std::string& address) {
    const auto endpoint = parse_endpoint(address, "the aggregator's address");
    need_cryptography();  // else connecting would fail again and again
    ClientOptions mine = options;
    // An aggregator that is given a token here is a part of the job, and tells nobody else how it
    // is.
    if (mine.token.empty()) {
      if (rank == 0) keep_job_secret(job);
      SiteAuth auth = find_site_auth({});
      mine.token = std::move(auth.token);
      mine.munge = std::move(auth.munge);
    }
    if (mine.token.empty() && !mine.munge)
      throw Error(ErrorKind::invalid_argument, "aggregator " + address + " wants a secret, and " +
                                                   offload::site_token_variables.token +
                                                   " is not set");
    // Of one job at one aggregator there is one group; should two addresses be the same
    // aggregator's, they need two.
    const auto group = static_cast<std::uint32_t>(XXH3_64bits(address.data(), address.size()));
    const GroupMembership membership{
        .job = JobKey(job), .group = group, .rank = rank, .ranks = ranks};
    auto aggregator = connect_aggregator(endpoint, membership, mine);
    wait_until_ready(*aggregator);
    return aggregator;
  };
}

}  // namespace offload

JobSecret random_job_secret() {
  JobSecret secret;
  if (::getentropy(secret.data(), secret.size()) != 0)
    throw Error(ErrorKind::transport, std::string("getentropy: ") + std::strerror(errno));
  return secret;
}

ConnectAggregator aggregator_connector(const JobSecret& job, int rank, int ranks) {
  return offload::connector(job, rank, ranks, {});
}

}  // namespace cohom
