#include "tune/tune_options.hpp"

#include "bench_options.hpp"
#include "inputs.hpp"

#include <cohom/version.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <utility>

namespace cohom::bench {
namespace {

/// A race's first duel has eight or twelve calls, and some more settle it.
constexpr std::uint64_t least_calls = 20;

/// Calls of one kind have at most half as many bytes again as others.
std::vector<std::size_t> with_halves(const std::vector<std::size_t>& sizes, ElementType type) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    all.push_back(sizes[i]);
    const bool doubles = i + 1 < sizes.size() && sizes[i + 1] == 2 * sizes[i];
    if (doubles && sizes[i] / 2 % size_of(type) == 0) all.push_back(sizes[i] + sizes[i] / 2);
  }
  return all;
}

}  // namespace

std::variant<TuneOptions, Information> parse_tune_options(int argc, const char* const* argv) {
  TuneOptions options;
  std::string sizes = "64K:64M", type = "f32", collective = "allreduce";
  CLI::App app(
      "Finds out where MPI's own reduction is faster than a codec, on these ranks and links, and\n"
      "writes it to a file that programs read: COHOM_DECISIONS=FILE. Run it under mpirun, or "
      "srun,\n"
      "as the programs are run.",
      "cohom-tune");
  app.add_option("--codec", options.codecs, "codec spec; may be repeated")
      ->allow_extra_args(false)
      ->check(some_codec())
      ->capture_default_str();
  app.add_option("--size", sizes,
                 "bytes of the vectors: comma list of N, NK, NM, NG and ranges a:b (a, 1.5a, 2a, "
                 "3a ... b); where ranks have parts these are equal, and some bytes fewer")
      ->capture_default_str();
  app.add_option("--dtype", type, "element type: f32 or f64")->capture_default_str();
  app.add_option("--collective", collective,
                 "allreduce, reduce_scatter (each rank gets a part), reduce (rank 0 gets all) or "
                 "allgather (each rank brings a part)")
      ->capture_default_str();
  app.add_option("--input", options.input, fmt::format("{}, or a .npy/.npz file", input_kinds))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the input")
      ->check(whole_number())
      ->capture_default_str();
  app.add_option("--calls", options.calls, "of each codec and size")
      ->check(whole_number(least_calls))
      ->capture_default_str();
  app.add_option("FILE", options.path, "gets the decisions; what it has of other kinds stays")
      ->required()
      ->check(some_path());
  app.set_version_flag("--version", std::string("cohom-tune ") + version_string);
  if (auto information = parse(app, argc, argv)) return *std::move(information);
  const auto element = element_type_named(type);
  if (!element || (*element != ElementType::f32 && *element != ElementType::f64))
    throw UsageError(fmt::format("--dtype '{}' should be f32 or f64, which MPI sums", type));
  options.type = *element;
  const auto kind = reduction_kind_named(collective);
  if (!kind)
    throw UsageError(fmt::format(
        "--collective '{}' should be allreduce, reduce_scatter, reduce or allgather", collective));
  options.collective = *kind;
  options.sizes = with_halves(parse_sizes(sizes, options.type), options.type);
  return options;
}

}  // namespace cohom::bench
