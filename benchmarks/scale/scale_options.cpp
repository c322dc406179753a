#include "scale/scale_options.hpp"

#include "bench_options.hpp"

#include <cohom/version.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <system_error>
#include <utility>

namespace cohom::bench {
namespace {

/// Comma lists as they are given.
struct Texts {
  std::string mode = "schedule";
  std::string networks = "fat";
  std::string ranks = "8:1024";
  std::string sizes = "1M,16M";
  std::string algorithms = "direct,recursive_halving,mixed_radix";
};

std::string networks_in_words() {
  std::string text = "Networks:\n";
  for (const NetworkShape& shape : network_table())
    text += fmt::format("  {:10} {}\n", shape.name, describe(shape));
  return text;
}

int parse_rank_count(std::string_view text, std::string_view item) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < 2 || value > most_ranks)
    throw UsageError(
        fmt::format("--ranks '{}' should be numbers from 2 to {} or ranges, e.g. "
                    "8:1024",
                    item, most_ranks));
  return value;
}

std::vector<const NetworkShape*> parse_networks(std::string_view text) {
  std::vector<const NetworkShape*> networks;
  for (const std::string& name : split_list("--network", text)) {
    networks.push_back(find_network(name));
    if (networks.back() == nullptr)
      throw UsageError(fmt::format("--network '{}' is unknown (see cohom-scale --help)", name));
  }
  return networks;
}

void add_flags(CLI::App& app, ScaleOptions& options, Texts& texts) {
  app.add_option("--mode", texts.mode,
                 "schedule: the schedules alone, to 8192 ranks and more; executor: the library "
                 "itself, with its kernels and the memory of all ranks")
      ->check(CLI::IsMember({"schedule", "executor"}))
      ->capture_default_str();
  app.add_option("--network", texts.networks, "comma list of networks (below)")
      ->capture_default_str();
  app.add_option("--ranks", texts.ranks, "comma list of N and ranges a:b (a, 2a, 4a ... b)")
      ->capture_default_str();
  app.add_option("--size", texts.sizes,
                 "bytes of the vector of f32: comma list of N, NK, NM, NG and ranges a:b")
      ->capture_default_str();
  app.add_option("--codec", options.codecs,
                 "codec spec (see cohom-info); may be repeated (default: thc)")
      ->allow_extra_args(false)
      ->check(some_codec());
  app.add_option("--algorithm", texts.algorithms, "comma list of algorithms (see cohom-info)")
      ->capture_default_str();
  app.add_option("--segment", options.segment,
                 "elements of a segment (default: the library's choice)")
      ->check(whole_number());
  app.add_option("--outliers", options.outliers,
                 "infinite elements of rank 0, far apart, which a fallback round sums; of mode "
                 "executor")
      ->check(whole_number());
  app.add_option("--codec-times", options.codec_times,
                 "JSON of codec_bench, or default (docs/results/two-cores): also show times in "
                 "which codecs' work takes as long as measured; of mode schedule")
      ->check(some_path());
  app.add_option("--max-messages", options.max_messages,
                 "leave out what sends more, all ranks together, in mode schedule")
      ->check(whole_number(1))
      ->capture_default_str();
  app.add_option("--json", options.json_path, "write the results to this file")->check(some_path());
  app.add_option("--traces", options.trace_folder,
                 "a folder for each row's messages, as traces that SimGrid's SMPI replays (see "
                 "benchmarks/scale/smpi_check); of mode executor")
      ->check(some_path());
  app.set_version_flag("--version", std::string("cohom-scale ") + version_string);
  app.footer(networks_in_words());
}

}  // namespace

std::vector<int> parse_ranks(std::string_view text) {
  std::vector<int> ranks;
  for (const std::string& item : split_list("--ranks", text)) {
    const std::string_view all = item;
    const std::size_t colon = all.find(':');
    const int first = parse_rank_count(all.substr(0, colon), item);
    const int last =
        colon == std::string_view::npos ? first : parse_rank_count(all.substr(colon + 1), item);
    if (first > last)
      throw UsageError(fmt::format("--ranks '{}' is a range from many to few", item));
    for (int count = first; count <= last; count *= 2) ranks.push_back(count);
  }
  return ranks;
}

std::variant<ScaleOptions, Information> parse_scale_options(int argc, const char* const* argv) {
  ScaleOptions options;
  Texts texts;
  CLI::App app(
      "Shows how long an allreduce takes on many ranks of a simulated network, beside the best "
      "native algorithm.",
      "cohom-scale");
  add_flags(app, options, texts);
  if (auto information = parse(app, argc, argv)) return *std::move(information);
  options.mode = texts.mode == "executor" ? ScaleMode::executor : ScaleMode::schedule;
  options.networks = parse_networks(texts.networks);
  options.ranks = parse_ranks(texts.ranks);
  options.sizes = parse_sizes(texts.sizes, ElementType::f32);
  options.algorithms = split_list("--algorithm", texts.algorithms);
  if (options.mode == ScaleMode::executor && !options.codec_times.empty())
    throw UsageError("--codec-times is of --mode schedule: the executor's work takes no time");
  if (options.mode != ScaleMode::executor && !options.trace_folder.empty())
    throw UsageError(fmt::format("--traces {} is of --mode executor: schedules alone leave none",
                                 options.trace_folder));
  if (options.mode == ScaleMode::schedule && options.outliers != 0)
    throw UsageError("--outliers is of --mode executor: schedules have no elements");
  for (const std::size_t size : options.sizes)
    if (options.outliers > size / sizeof(float))
      throw UsageError(fmt::format("--outliers {} should be at most the {} elements of --size",
                                   options.outliers, size / sizeof(float)));
  options.command = "cohom-scale";
  for (int i = 1; i < argc; ++i) options.command += std::string(" ") + argv[i];
  return options;
}

}  // namespace cohom::bench
