// ControlServer: how things stand, as JSON.

#include "offload/control_server.hpp"

#include <nlohmann/json.hpp>

#include <set>

namespace cohom::offload {

nlohmann::ordered_json ControlServer::status() const {
  using Json = nlohmann::ordered_json;
  const auto now = Clock::now();
  const auto seconds = [now](Clock::time_point since) {
    return std::chrono::duration<double>(now - since).count();
  };
  std::set<std::uint64_t> jobs;
  Json groups = Json::array();
  for (const auto& [key, group] : groups_) {
    jobs.insert(key.job);
    const GroupCounters counters = group.number ? plane_.counters(*group.number) : GroupCounters{};
    groups.push_back({{"job", key.job},
                      {"group", key.group},
                      {"state", name_of(group.state)},
                      {"workers", group.workers},
                      {"joined", group.joined.size()},
                      {"slots", group.number ? group.slots : 0},
                      {"payload_bytes", group.payload_bytes},
                      {"epoch", group.epoch},
                      {"seconds", seconds(group.since)},
                      {"contributions", counters.contributions},
                      {"sums", counters.sums}});
  }
  Json packets = Json::object();
  for (const auto& [name, count] : plane_.packets()) packets[name] = count;
  return {{"schema", "cohom-aggregator/1"},
          {"kind", plane_.kind()},
          {"listen", text_of(address())},
          {"parent", setup_.parent ? Json(text_of(*setup_.parent)) : Json(nullptr)},
          {"seconds", seconds(start_)},
          {"slots", plane_.slots()},
          {"free_slots", plane_.free_slots()},
          {"jobs", jobs.size()},
          {"groups", std::move(groups)},
          {"connections", clients_.size()},
          {"groups_admitted", counts_.admitted},
          {"workers_gone", counts_.gone},
          {"refused", counts_.refused},
          {"wrong_tokens", counts_.wrong_tokens},
          {"bad_messages", counts_.bad_messages},
          {"packets", std::move(packets)}};
}

}  // namespace cohom::offload
