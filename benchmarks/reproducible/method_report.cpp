#include "reproducible/method_report.hpp"

#include "base/standard_output.hpp"
#include "npy.hpp"
#include "quality.hpp"
#include "table.hpp"

#include <cohom/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace cohom::bench {
namespace {

using Json = nlohmann::ordered_json;

double share(const MethodResult& result, const ReproducibleOptions& options) {
  return static_cast<double>(result.judgement.correctly_rounded) /
         static_cast<double>(options.elements());
}

double over_raw(const MethodResult& result, const ReproducibleOptions& options) {
  return static_cast<double>(result.bytes) / static_cast<double>(options.bytes);
}

Json to_json(const MethodResult& result, const ReproducibleOptions& options) {
  const Judgement& judgement = result.judgement;
  Json json = {{"method", result.name},
               {"result_hash", hash_text(judgement.hash)},
               {"identical_across_ranks", judgement.identical_across_ranks},
               {"correctly_rounded", share(result, options)},
               {"max_ulp", judgement.max_ulp},
               {"mean_ulp", judgement.mean_ulp},
               {"collective_bytes", result.bytes},
               {"time_s", nullptr}};
  if (result.time)
    json["time_s"] = {
        {"min", result.time->min}, {"median", result.time->median}, {"p99", result.time->p99}};
  return json;
}

}  // namespace

std::string table_of(std::span<const MethodResult> results, const ReproducibleOptions& options) {
  const auto line = [](const auto&... cells) {
    return fmt::format("{:<14}  {:<16}  {:>8}  {:>9}  {:>9}  {:>6}  {:>7}  {}\n", cells...);
  };
  std::string text =
      line("method", "hash", "rounded", "max ulp", "mean ulp", "x raw", "ms", "same");
  for (const MethodResult& result : results) {
    const Judgement& judgement = result.judgement;
    text += line(result.name, hash_text(judgement.hash),
                 fmt::format("{:.6f}", std::floor(share(result, options) * 1e6) / 1e6),
                 fmt::format("{:.4g}", static_cast<double>(judgement.max_ulp)),
                 fmt::format("{:.3g}", judgement.mean_ulp),
                 fmt::format("{:.2f}", over_raw(result, options)),
                 result.time ? fmt::format("{:.4g}", result.time->median * 1e3) : std::string("-"),
                 judgement.identical_across_ranks ? "yes" : "NO");
  }
  return text;
}

MethodReport::MethodReport(const RunFacts& facts, const ReproducibleOptions& options,
                           const Deal& deal, std::span<const std::string> methods)
    : facts_(facts), options_(options), sums_(methods.size()) {
  for (const auto& vectors : deal) dealt_.push_back(vectors.size());
  if (!options.json_path.empty()) json_.emplace("--json", options.json_path);
  if (options.results_folder.empty()) return;
  for (std::size_t m = 0; m < methods.size(); ++m)
    sums_[m].emplace("--results", fmt::format("{}/{}.npy", options.results_folder, methods[m]));
}

void MethodReport::save(std::size_t method, std::span<const std::byte> sum) {
  if (!sums_[method]) return;
  sums_[method]->write(npy_content(options_.type, sum));
  sums_[method]->close();
}

void MethodReport::finish(std::span<const MethodResult> results) {
  fmt::print(
      "# cohom {} ({}), {} ranks, {}, {}\n# {} vectors of {}, {}, input {}, dealt {}: {}\n\n",
      version_string, facts_.git, facts_.ranks, facts_.host, facts_.mpi_library, options_.vectors,
      size_text(options_.bytes), name_of(options_.type), options_.input,
      options_.deal ? fmt::format("at random, seed {}", *options_.deal) : "in blocks",
      fmt::join(dealt_, " "));
  fmt::print("{}", table_of(results, options_));
  flush_standard_output();
  if (!json_) return;
  Json document = {{"schema", "cohom-reproducible/1"},
                   {"host", facts_.host},
                   {"git", facts_.git},
                   {"ranks", facts_.ranks},
                   {"version", version_string},
                   {"mpi", facts_.mpi_library},
                   {"command", options_.command},
                   {"date", facts_.date},
                   {"input", options_.input},
                   {"seed", options_.seed},
                   {"dtype", name_of(options_.type)},
                   {"bytes", options_.bytes},
                   {"elements", options_.elements()},
                   {"vectors", options_.vectors},
                   {"deal", options_.deal ? Json(*options_.deal) : Json(nullptr)},
                   {"dealt", dealt_},
                   {"results", Json::array()}};
  for (const MethodResult& result : results)
    document["results"].push_back(to_json(result, options_));
  json_->write(document.dump(1) + "\n");
  json_->close();
}

}  // namespace cohom::bench
