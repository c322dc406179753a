#include "reproducible/reproducible_options.hpp"

#include "reproducible/method.hpp"

#include "bench_options.hpp"
#include "inputs.hpp"

#include <cohom/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>

namespace cohom::bench {
namespace {

// Sums of the widest range have some dozen integers an element, which MPI counts in int.
constexpr std::size_t max_bytes = std::size_t{64} << 20;
constexpr std::size_t max_vectors = 1 << 16;

/// Texts of flags as they are given, before they are checked together.
struct Texts {
  std::string size = "1M";
  std::string type = "f32";
  std::vector<std::string> methods = {};  ///< comma lists
};

std::string known_methods() {
  std::string text;
  for (const auto& row : methods<float>()) text += fmt::format("\n  {:<14}{}", row.name, row.text);
  return text;
}

void add_flags(CLI::App& app, ReproducibleOptions& options, Texts& texts) {
  app.add_option("--method", texts.methods, "comma list of methods (default: all)")
      ->allow_extra_args(false);
  app.add_option("--size", texts.size, "bytes of each vector: N, NK or NM, at most 64M")
      ->capture_default_str();
  app.add_option("--vectors", options.vectors, "how many are added")
      ->check(whole_number(1))
      ->capture_default_str();
  app.add_option("--dtype,--type", texts.type, "element type: f32 or f64")->capture_default_str();
  app.add_option("--input", options.input, fmt::format("{}, or a .npy/.npz file", input_kinds))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the input")
      ->check(whole_number())
      ->capture_default_str();
  app.add_option("--deal", options.deal,
                 "seed of a random deal of the vectors to the ranks (default: blocks)")
      ->check(whole_number());
  app.add_option("--iterations", options.iterations,
                 "timed sums a method (default: about 1.5 s worth for all, 5 to 1000)")
      ->check(whole_number(1));
  app.add_flag("--check-only", options.check_only, "no timing");
  app.add_option("--json", options.json_path, "write the results to this file")->check(some_path());
  app.add_option("--results", options.results_folder,
                 "write each method's sum to FOLDER/METHOD.npy, for comparisons of runs")
      ->check(some_path());
  app.set_version_flag("--version", std::string("cohom-reproducible ") + version_string);
}

void check_method(const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& row : methods<float>()) names.push_back(row.name);
  if (std::ranges::find(names, name) == names.end())
    throw UsageError(
        fmt::format("--method '{}' should be one of {}", name, fmt::join(names, ", ")));
}

void finish(ReproducibleOptions& options, const Texts& texts) {
  const auto type = element_type_named(texts.type);
  if (!type || (*type != ElementType::f32 && *type != ElementType::f64))
    throw UsageError(fmt::format("--dtype '{}' should be f32 or f64", texts.type));
  options.type = *type;
  const std::vector<std::size_t> sizes = parse_sizes(texts.size, options.type);
  if (sizes.size() != 1 || sizes.front() > max_bytes)
    throw UsageError(fmt::format("--size '{}' should be one size of at most 64M", texts.size));
  options.bytes = sizes.front();
  if (options.vectors > max_vectors)
    throw UsageError(
        fmt::format("--vectors {} should be at most {}", options.vectors, max_vectors));
  for (const std::string& list : texts.methods)
    for (std::string& name : split_list("--method", list)) {
      check_method(name);
      options.methods.push_back(std::move(name));
    }
}

}  // namespace

std::variant<ReproducibleOptions, Information> parse_reproducible_options(int argc,
                                                                          const char* const* argv) {
  ReproducibleOptions options;
  Texts texts;
  CLI::App app(
      "Adds the same vectors, dealt to the ranks, by several methods, and shows whose bits depend\n"
      "on the ranks and the deal. Run it under mpirun; rank 0 prints.\n\nMethods:" +
          known_methods(),
      "cohom-reproducible");
  add_flags(app, options, texts);
  if (auto information = parse(app, argc, argv)) return *std::move(information);
  finish(options, texts);
  options.command = "cohom-reproducible";  // without the folder it was started from
  for (int i = 1; i < argc; ++i) options.command += std::string(" ") + argv[i];
  return options;
}

}  // namespace cohom::bench
