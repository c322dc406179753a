#include "scale/scale_report.hpp"

#include "base/standard_output.hpp"

#include <cohom/version.hpp>

#include <fmt/format.h>

#include <utility>

namespace cohom::bench {
namespace {

constexpr double mebibyte = 1 << 20;

nlohmann::ordered_json json_of(const NetworkShape& shape) {
  return {{"name", shape.name},
          {"ranks_a_node", shape.ranks_a_node},
          {"nodes_a_leaf", shape.nodes_a_leaf},
          {"uplinks", shape.uplinks},
          {"link_gbit_s", 8 * shape.link},
          {"latency_us", shape.latency / 1000},
          {"hop_us", shape.hop / 1000},
          {"overhead_us", shape.overhead / 1000},
          {"adapter_gap_us", shape.adapter_gap / 1000},
          {"copy_gb_s", shape.copy},
          {"memory_gb_s", shape.memory},
          {"memory_latency_us", shape.memory_latency / 1000}};
}

nlohmann::ordered_json json_of(const TimedCall& timed) {
  return {{"time_us", timed.call.time / 1000},
          {"native_us", timed.native.call.time / 1000},
          {"native_algorithm", timed.native.algorithm},
          {"ratio", timed.ratio()}};
}

std::string size_text(std::size_t bytes) {
  if (bytes % (1 << 20) == 0) return fmt::format("{}M", bytes >> 20);
  return bytes % (1 << 10) == 0 ? fmt::format("{}K", bytes >> 10) : std::to_string(bytes);
}

std::string times_text(const std::optional<TimedCall>& timed) {
  if (!timed) return fmt::format(" {:>10} {:>10} {:>6}", "-", "-", "-");
  return fmt::format(" {:10.1f} {:10.1f} {:6.2f}", timed->call.time / 1000,
                     timed->native.call.time / 1000, timed->ratio());
}

}  // namespace

ScaleReport::ScaleReport(const ScaleOptions& options) : options_(options) {
  if (!options.json_path.empty()) file_.emplace("--json", options.json_path);
  document_ = {{"schema", "cohom-scale/1"},
               {"version", std::string(version_string)},
               {"command", options.command},
               {"mode", options.mode == ScaleMode::executor ? "executor" : "schedule"},
               {"codec_times", options.codec_times},
               {"networks", nlohmann::ordered_json::array()},
               {"results", nlohmann::ordered_json::array()}};
  for (const NetworkShape* const network : options.networks)
    document_["networks"].push_back(json_of(*network));
  print_head();
}

void ScaleReport::print_head() const {
  for (const NetworkShape* const network : options_.networks)
    fmt::print("{}: {}\n", network->name, describe(*network));
  fmt::print("\n{:9} {:>5} {:>5} {:20} {:18} {:>10} {:>10} {:>6}", "network", "ranks", "size",
             "codec", "algorithm", "us", "native us", "ratio");
  if (!options_.codec_times.empty())
    fmt::print(" {:>10} {:>10} {:>6}", "us + codec", "native", "ratio");
  fmt::print(" {:>8} {:>10}\n", "messages", "MiB a node");
  flush_standard_output();
}

void ScaleReport::print(const ScaleRow& row) const {
  fmt::print("{:9} {:5} {:>5} {:20} {:18}{}", row.network->name, row.shape.ranks,
             size_text(row.shape.elements * sizeof(float)), row.shape.codec, row.algorithm,
             times_text(row.alone));
  if (!options_.codec_times.empty()) fmt::print("{}", times_text(row.with_codec));
  if (row.alone)
    fmt::print(" {:8} {:10.2f}", row.alone->call.messages,
               static_cast<double>(row.alone->call.busiest_node_bytes) / mebibyte);
  if (row.hash) fmt::print("  hash {:016x}", *row.hash);
  fmt::print("\n");
  flush_standard_output();
}

void ScaleReport::add(const ScaleRow& row) {
  print(row);
  if (!row.alone) return;
  nlohmann::ordered_json json = {{"network", row.network->name},
                                 {"ranks", row.shape.ranks},
                                 {"bytes", row.shape.elements * sizeof(float)},
                                 {"codec", row.shape.codec},
                                 {"asked_algorithm", row.shape.algorithm},
                                 {"algorithm", row.algorithm},
                                 {"messages", row.alone->call.messages},
                                 {"node_bytes", row.alone->call.busiest_node_bytes},
                                 {"alone", json_of(*row.alone)}};
  if (row.with_codec) json["with_codec"] = json_of(*row.with_codec);
  if (row.hash) json["hash"] = fmt::format("{:016x}", *row.hash);
  if (!row.traces.empty()) json["traces"] = row.traces;
  document_["results"].push_back(std::move(json));
  if (file_) file_->write(document_.dump(1) + "\n");
}

void ScaleReport::close() {
  if (file_) file_->close();
}

}  // namespace cohom::bench
