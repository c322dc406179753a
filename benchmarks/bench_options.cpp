#include "bench_options.hpp"

#include "base/environment.hpp"
#include "inputs.hpp"

#include <cohom/version.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace cohom::bench {
namespace {

constexpr std::string_view default_sizes = "64K,1M,16M";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

void check_size(std::size_t bytes, ElementType type) {
  const std::size_t element = size_of(type);
  if (bytes == 0 || bytes % element != 0)
    throw UsageError(
        fmt::format("--size {} is no whole number of {} elements ({} bytes each), one "
                    "at least",
                    bytes, name_of(type), element));
  // The native MPI_Allreduce, which every row is compared with, counts in int.
  if (bytes / element > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw UsageError(fmt::format("--size {} has {} elements; native MPI_Allreduce takes at most {}",
                                 bytes, bytes / element, std::numeric_limits<int>::max()));
}

/// Texts of flags as they are given, before they are checked together.
struct Texts {
  std::string sizes = std::string(default_sizes);
  std::string type = "f32";
  std::string op = "sum";
  std::string collective = "allreduce";
  std::string memory = "host";
  std::vector<std::string> algorithms = {};  ///< comma lists
};

/// What a row is.
void add_row_flags(CLI::App& app, BenchOptions& options, Texts& texts) {
  // One value a flag: a codec's own parameters contain commas and must not be split.
  app.add_option(
         "--codec", options.codecs,
         "codec spec, e.g. thc:bits=4,dither=nearest (see cohom-info); may be repeated (default: "
         "COHOM_CODEC, or raw and thc)")
      ->allow_extra_args(false)
      ->check(some_codec());
  app.add_option("--algorithm", texts.algorithms,
                 "comma list of algorithms (see cohom-info; default: COHOM_ALGORITHM, or auto)")
      ->allow_extra_args(false);
  app.add_option(
      "--size", texts.sizes,
      "bytes of the vector: comma list of N, NK, NM, NG and ranges a:b (a, 2a, 4a ... b)");
  app.add_option("--input", options.inputs,
                 fmt::format("{}, or a .npy/.npz file [ranks, d]; may be repeated", input_kinds))
      ->allow_extra_args(false);
  app.add_option("--dtype", texts.type, "element type: f32, f16, bf16 or f64");
  app.add_option("--op", texts.op, "sum or mean");
  app.add_option("--collective", texts.collective,
                 "allreduce, reduce_scatter (each rank gets a part), reduce (rank 0 gets all) or "
                 "allgather (each rank brings a part)");
  app.add_option("--memory", texts.memory,
                 "host, pinned or cuda: where vectors lie; native calls have the host's");
  app.add_option("--transport", options.transport,
                 "mpi or ucx: how messages travel (default: COHOM_TRANSPORT, or mpi)");
}

/// How rows are measured and shown.
void add_run_flags(CLI::App& app, BenchOptions& options) {
  app.add_option("--iterations", options.iterations,
                 "timed calls a row (default: about 1.5 s worth, 5 to 1000)");
  app.add_option("--warmup", options.warmup, "calls before the timed ones");
  app.add_flag("--native-apart", options.native_apart,
               "native calls are timed before a vector's first row, not in turn with each row, and "
               "all its rows show their time: for long calls");
  app.add_option("--seed", options.seed, "of the input")->check(whole_number());
  app.add_option(
      "--steps", options.steps,
      "calls of the correctness run, which keeps the codec's state and reports the last; "
      "every step reduces the same vectors");
  app.add_flag("--in-place", options.in_place, "output replaces input");
  app.add_flag("--nonblocking", options.nonblocking, "start and test instead of blocking calls");
  app.add_option("--segment", options.segment,
                 "elements of a segment (default: the library's choice)")
      ->check(whole_number());
  app.add_option("--timeout", options.timeout,
                 "seconds without progress after which a call is an error (default: "
                 "COHOM_TIMEOUT, or never)");
  app.add_option("--checksum", options.checksum,
                 "on or off: a checksum behind each message (default: COHOM_CHECKSUM, or off)");
  app.add_option("--threads", options.threads,
                 "auto, or a number: threads that encode, merge and decode beside the caller's "
                 "(default: COHOM_THREADS, or auto)");
  app.add_option(
      "--native", options.native,
      "never, auto or always: whether timed calls may go by MPI's own reduction; errors, "
      "bits and bytes are the codec's (default: never)");
  app.add_option("--json", options.json_path, "write the results to this file")->check(some_path());
  app.add_flag("--quiet", options.quiet, "no progress line");
  app.add_flag("--check-only", options.check_only, "only the correctness columns, no timing");
  app.add_flag("--profile", options.profile,
               "where the time of a call goes, in ms: means over calls and ranks");
  app.add_flag("--rounding", options.rounding,
               "columns with the shares of elements that are the correctly rounded sum, of the row "
               "and of native (they are there for codec exact)");
  app.set_version_flag("--version", std::string("cohom-bench ") + version_string);
}

void check_numbers(const BenchOptions& options, const CLI::App& app) {
  if (app.count("--iterations") > 0 && options.iterations < 1)
    throw UsageError(fmt::format("--iterations {} should be at least 1", options.iterations));
  if (options.warmup < 0)
    throw UsageError(fmt::format("--warmup {} should be at least 0", options.warmup));
  if (options.steps < 1)
    throw UsageError(fmt::format("--steps {} should be at least 1", options.steps));
  if (!(options.timeout >= 0))
    throw UsageError(
        fmt::format("--timeout {} should be a number of seconds, 0 or more", options.timeout));
  for (const char* timing : {"--iterations", "--warmup", "--native-apart", "--profile"})
    if (options.check_only && app.count(timing) > 0)
      throw UsageError(fmt::format("--check-only does no timing, so {} has no meaning", timing));
}

void finish(BenchOptions& options, const Texts& texts) {
  const auto type = element_type_named(texts.type);
  if (!type)
    throw UsageError(fmt::format("--dtype '{}' should be f32, f16, bf16 or f64", texts.type));
  options.type = *type;
  if (texts.op != "sum" && texts.op != "mean")
    throw UsageError(fmt::format("--op '{}' should be sum or mean", texts.op));
  options.op = texts.op == "mean" ? ReduceOp::mean : ReduceOp::sum;
  const auto collective = reduction_kind_named(texts.collective);
  if (!collective)
    throw UsageError(
        fmt::format("--collective '{}' should be allreduce, reduce_scatter, reduce or allgather",
                    texts.collective));
  options.collective = *collective;
  if (!options.checksum.empty() && options.checksum != "on" && options.checksum != "off")
    throw UsageError(fmt::format("--checksum '{}' should be on or off", options.checksum));
  const auto memory = memory_space_named(texts.memory);
  if (!memory)
    throw UsageError(fmt::format("--memory '{}' should be host, pinned or cuda", texts.memory));
  options.memory = *memory;
  options.sizes = parse_sizes(texts.sizes, options.type);
  if (!texts.algorithms.empty()) options.algorithms.clear();
  for (const std::string& list : texts.algorithms)
    for (std::string& name : split_list("--algorithm", list))
      options.algorithms.push_back(std::move(name));
}

/// Another default, which the command line does not show.
void take_from_environment(std::vector<std::string>& items, const char* variable,
                           std::string& command) {
  const std::string value = option_or_environment({}, variable, "");
  if (value.empty()) return;
  items = {value};
  command += fmt::format("{}={} ", variable, value);
}

}  // namespace

std::size_t parse_size(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return UsageError(
        fmt::format("--size '{}' {}; it should be e.g. 1000012, 64K, 16M, 1G or "
                    "64K:16M",
                    text, why));
  };
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) throw wrong("is too large");
  if (error != std::errc{}) throw wrong("is no number");
  const std::string_view suffix(next, static_cast<std::size_t>(end - next));
  static const std::map<std::string_view, int> shifts = {
      {"", 0}, {"K", 10}, {"k", 10}, {"M", 20}, {"G", 30}};
  const auto shift = shifts.find(suffix);
  if (shift == shifts.end()) throw wrong(fmt::format("has the unknown suffix '{}'", suffix));
  if (value > std::numeric_limits<std::size_t>::max() >> shift->second) throw wrong("is too large");
  return value << shift->second;
}

std::vector<std::size_t> parse_sizes(std::string_view text, ElementType type) {
  std::vector<std::size_t> sizes;
  for (const std::string& item : split_list("--size", text)) {
    const auto ends = split(item, ':');
    if (ends.size() > 2)
      throw UsageError(fmt::format("--size '{}' should be a range of two sizes, a:b", item));
    const std::size_t first = parse_size(ends.front());
    const std::size_t last = parse_size(ends.back());
    if (first > last)
      throw UsageError(fmt::format("--size '{}' is a range from large to small", item));
    check_size(first, type);
    check_size(last, type);
    for (std::size_t size = first; size <= last; size *= 2) sizes.push_back(size);
  }
  return sizes;
}

std::variant<BenchOptions, Information> parse_options(int argc, const char* const* argv) {
  BenchOptions options;
  take_from_environment(options.codecs, "COHOM_CODEC", options.command);
  take_from_environment(options.algorithms, "COHOM_ALGORITHM", options.command);
  Texts texts;
  CLI::App app(
      "Measures compressed allreduces, or other reductions, beside the native ones, on the same "
      "vectors.\n"
      "Run it under mpirun; rank 0 prints. Ranks behind a ':' of mpirun's command line belong to "
      "another program, and take no part.",
      "cohom-bench");
  add_row_flags(app, options, texts);
  add_run_flags(app, options);
  if (auto information = parse(app, argc, argv)) return *std::move(information);
  check_numbers(options, app);
  finish(options, texts);
  options.command += "cohom-bench";  // without the folder it was started from
  for (int i = 1; i < argc; ++i) options.command += std::string(" ") + argv[i];
  return options;
}

}  // namespace cohom::bench
