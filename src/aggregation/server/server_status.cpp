#include "aggregation/server/server_status.hpp"

#include "aggregation/auth/job_key.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <set>

namespace cohom::offload {

namespace {

double seconds_since(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

void ServerStatus::tell(ServerClient& client, const StatusRequest& request) {
  std::optional<std::uint64_t> job;
  if (request.job != PublicKey{}) {
    if (!is_signed(request.job, request.signature, client.handshake.status_statement()))
      return journal_.refuse(client,
                             {Refusal::wrong_key, "the status of a job is for who has its key"});
    job = job_of(request.job);
  }
  client.connection.send(Status{status(client.is_operator, job).dump()});
  client.leaving = true;
}

/// Without what lets one join or send: epochs and keys.
nlohmann::ordered_json ServerStatus::status_of(const ServerGroup& group) const {
  const GroupCounters counters = group.number ? plane_.counters(*group.number) : GroupCounters{};
  return {{"job", group.key.job},
          {"group", group.key.group},
          {"state", name_of(group.state)},
          {"workers", group.workers},
          {"joined", group.joined.size()},
          {"slots", group.number ? group.slots : 0},
          {"payload_bytes", group.payload_bytes},
          {"seconds", seconds_since(group.since)},
          {"contributions", counters.contributions},
          {"sums", counters.sums}};
}

nlohmann::ordered_json ServerStatus::status(bool of_all, std::optional<std::uint64_t> job) const {
  using Json = nlohmann::ordered_json;
  std::set<std::uint64_t> jobs;
  Json groups = Json::array();
  for (const auto& [key, group] : groups_.all()) {
    jobs.insert(key.job);
    if (of_all || job == key.job) groups.push_back(status_of(group));
  }
  Json packets = Json::object();
  for (const auto& [name, count] : plane_.packets()) packets[name] = count;
  Json status{{"schema", "cohom-aggregator/2"},
              {"kind", plane_.kind()},
              {"listen", text_of(clients_.address())},
              {"parent", setup_.parent ? Json(text_of(*setup_.parent)) : Json(nullptr)},
              {"seconds", seconds_since(start_)},
              {"restarts", setup_.restarts},
              {"slots", plane_.slots()},
              {"free_slots", plane_.free_slots()},
              {"jobs", jobs.size()},
              {"group_count", groups_.all().size()},
              {"connections", clients_.size()},
              {"thrown_out", journal_.counts.thrown_out},
              {"groups_admitted", journal_.counts.admitted},
              {"workers_gone", journal_.counts.gone},
              {"refused", journal_.counts.refused},
              {"wrong_tokens", journal_.counts.wrong_tokens},
              {"wrong_keys", journal_.counts.wrong_keys},
              {"bad_messages", journal_.counts.bad_messages}};
  if (of_all || job) status["groups"] = std::move(groups);
  status["packets"] = std::move(packets);
  return status;
}

}  // namespace cohom::offload
