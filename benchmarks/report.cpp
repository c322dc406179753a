#include "report.hpp"

#include "call_vectors.hpp"
#include "git_describe.hpp"

#include <cohom/version.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>

extern char** environ;

namespace cohom::bench {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinities and no NaN.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const TimeSummary& time) {
  return {{"min", time.min}, {"median", time.median}, {"p99", time.p99}};
}

Json to_json(const NativeTime& native) {
  Json json = to_json(native.time);
  json["algorithm"] = native.algorithm;
  Json& candidates = json["candidates"] = Json::object();
  for (const auto& [name, median] : native.candidates) candidates[name] = or_null(median);
  return json;
}

/// The variables that change what the library does; not the secret one.
Json library_environment() {
  Json json = Json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (text.starts_with("COHOM_") && !text.starts_with("COHOM_AGGREGATOR_TOKEN=") &&
        !text.starts_with("COHOM_AGGREGATOR_OPERATOR_TOKEN="))
      json[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return json;
}

/// Of the timed turns, where anything was counted.
void add_counts(Json& json, const Timed& timed) {
  if (timed.profile) {
    Json& profile = json["profile_s"] = Json::object();
    for (std::size_t p = 0; p < phases; ++p)
      profile[std::string(name_of(static_cast<Phase>(p)))] = timed.profile->seconds[p];
    profile["processor"] = timed.profile->processor_seconds;
  }
  if (timed.counters.empty()) return;
  Json& counters = json["counters"] = Json::object();
  for (const auto& [name, count] : timed.counters) counters[name] = count;
}

void add_times(Json& json, const Row& row, int ranks, ReductionKind collective) {
  if (!row.timed) {
    for (const char* key : {"time_s", "native_time_s", "speedup", "algbw", "busbw"})
      json[key] = nullptr;
    return;
  }
  const Bandwidth speed = bandwidth(row.bytes, row.timed->time.median, ranks, collective);
  json["time_s"] = to_json(row.timed->time);
  json["native_time_s"] = to_json(row.timed->native);
  json["speedup"] = row.timed->speedup();
  json["algbw"] = speed.algorithm;
  json["busbw"] = speed.bus;
  json["iterations"] = row.timed->iterations;
  add_counts(json, *row.timed);
}

void add_wire(Json& json, const Row& row) {
  json["wire_bytes_per_rank"] = row.wire ? Json(row.wire->busiest_rank) : Json(nullptr);
  json["wire_bytes_all_ranks"] = row.wire ? Json(row.wire->all_ranks) : Json(nullptr);
  json["wire_bytes_formula"] = row.formula ? Json(row.formula->busiest_rank) : Json(nullptr);
  Json& by_ranks = json["wire_bytes_formula_by_ranks"] = Json::object();
  for (const auto& [ranks, bytes] : row.formula_by_ranks) by_ranks[std::to_string(ranks)] = bytes;
  json["wire_bytes_over_formula"] = or_null(row.wire_ratio());
  json["mpi_bytes"] = or_null(row.mpi_bytes);
}

void add_quality(Json& json, const Quality& quality) {
  json["vnmse"] = finite(quality.vnmse);
  json["max_abs_error"] = finite(quality.max_abs_error);
  json["vnmse_running_sum"] =
      quality.vnmse_running_sum ? finite(*quality.vnmse_running_sum) : Json(nullptr);
  json["identical_across_ranks"] = quality.identical_across_ranks;
  json["result_hash"] = hash_text(quality.result_hash);
}

void add_rounding(Json& json, const Row& row) {
  json["correctly_rounded"] = row.rounded.share();
  json["native_correctly_rounded"] =
      row.native_rounded ? Json(row.native_rounded->share()) : Json(nullptr);
  json["rounding_checked"] = row.rounded.checked;
}

std::vector<std::string> names_of_counters() {
  std::vector<std::string> names;
  if (const auto command = counter_command_of_environment())
    for (const auto& [name, count] : command->read()) names.push_back(name);
  return names;
}

/// Null: nobody knows.
Json topology_of(const RunFacts& facts) {
  const auto known = [](std::uint32_t count) { return count != 0 ? Json(count) : Json(nullptr); };
  return {{"nodes", known(facts.nodes)}, {"switches", known(facts.switches)}};
}

}  // namespace

RunFacts collect_facts(const Communicator& communicator) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> library{};
  int length = 0;
  MPI_Get_library_version(library.data(), &length);
  // Some libraries append their build's whole configuration.
  const std::string version(library.data());
  return {.host = host.data(),
          .git = git_describe,
          .mpi_library = version.substr(0, version.find_first_of(",\n")),
          .transport = std::string(communicator.transport().name()),
          .date = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr))),
          .ranks = communicator.ranks(),
          .nodes = communicator.topology().nodes.count,
          .switches = communicator.topology().switches.count,
          .counters = names_of_counters()};
}

Report::Report(const RunFacts& facts, const BenchOptions& options)
    : options_(options), facts_(facts) {
  document_ = {{"schema", "cohom-bench/1"},  {"host", facts.host},
               {"git", facts.git},           {"ranks", facts.ranks},
               {"version", version_string},  {"mpi", facts.mpi_library},
               {"command", options.command}, {"environment", library_environment()},
               {"date", facts.date},         {"topology", topology_of(facts)},
               {"results", Json::array()}};
  if (!options.json_path.empty()) file_.emplace("--json", options.json_path);
}

void Report::add(const Row& row) {
  Json json = {{"bytes", row.bytes},
               {"elements", row.elements},
               {"codec", row.codec},
               {"codec_taken", row.plan.codec},
               {"algorithm", row.plan.algorithm},
               {"algorithm_given", row.algorithm},
               {"bypass", row.plan.bypass},
               {"reason", row.plan.reason},
               {"not_offloaded", row.plan.not_offloaded},
               {"transport", facts_.transport},
               {"memory", memory_text(options_.memory)},
               {"runs_on", row.plan.memory},
               {"path", row.plan.path},
               {"dtype", name_of(options_.type)},
               {"op", name_of(options_.op)},
               {"collective", name_of(options_.collective)},
               {"input", row.input},
               {"extended", row.extended},
               {"input_rows", row.input_rows},
               {"seed", options_.seed},
               {"steps", options_.steps},
               {"in_place", options_.in_place},
               {"nonblocking", options_.nonblocking},
               {"segment", row.plan.segment},
               {"workspace_bytes", row.plan.workspace_bytes},
               {"agreement_rounds", row.plan.agreement_rounds}};
  add_times(json, row, facts_.ranks, options_.collective);
  add_wire(json, row);
  add_quality(json, row.quality);
  add_rounding(json, row);
  json["equals_raw"] = or_null(row.equals_raw);
  json["union_density"] = row.shape.density();
  if (row.timed) {
    json["native_calls"] = row.timed->native_calls;
    json["third_calls"] = row.timed->third_calls;
    json["third_algorithm"] = row.timed->plan.third_algorithm;
    json["third_codec"] = row.timed->plan.third_codec;
    json["timed_algorithm"] = row.timed->plan.algorithm;
  }
  if (row.offloading)
    json["offload"] = {{"offloaded", row.offloading->offloaded},
                       {"repeated", row.offloading->repeated},
                       {"declined", row.offloading->declined},
                       {"other_algorithm", row.plan.other_algorithm}};
  document_["results"].push_back(std::move(json));
}

void Report::write() {
  if (file_) file_->write(document_.dump(1) + "\n");
}

void Report::close() {
  if (file_) file_->close();
}

}  // namespace cohom::bench
