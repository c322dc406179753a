#include "convergence_options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace cohom::bench {
namespace {

void add_flags(CLI::App& app, ConvergenceOptions& options, std::vector<std::string>& bounds) {
  app.add_option("--problem", options.problem, "quadratic or digits")
      ->check(CLI::IsMember({"quadratic", "digits"}))
      ->capture_default_str();
  app.add_flag("--heterogeneous", options.heterogeneous, "ranks see different data");
  app.add_option("--codec", options.codecs, "codec spec (see cohom-info); may be repeated")
      ->allow_extra_args(false)
      ->check(some_codec())
      ->required();
  app.add_option(
         "--require", bounds,
         "CODEC<=FACTOR: exit with status 1 unless that codec's mean loss of the last tenth "
         "is at most FACTOR times raw's; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--algorithm", options.algorithm, "of the allreduce")->capture_default_str();
  app.add_option("--rate", options.rate, "learning rate")->capture_default_str();
  app.add_option("--steps", options.steps, "of SGD")->check(whole_number())->capture_default_str();
  app.add_option("--every", options.every, "steps from one loss to the next")
      ->check(whole_number(1))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of data and noise")
      ->check(whole_number())
      ->capture_default_str();
  app.add_option("--data", options.data, "file of digits")->capture_default_str();
  app.add_option("--json", options.json_path, "write the curves to this file")->check(some_path());
}

void check(const ConvergenceOptions& options) {
  const auto trained = [&](const std::string& codec) {
    return std::ranges::find(options.codecs, codec) != options.codecs.end();
  };
  if (!(options.rate > 0) || !std::isfinite(options.rate))
    throw UsageError(fmt::format("--rate {} should be a number above 0", options.rate));
  for (const Bound& bound : options.bounds)
    for (const std::string& needed : {bound.codec, std::string("raw")})
      if (!trained(needed))
        throw UsageError(fmt::format("--require '{}<={}' compares {} with raw: add --codec {}",
                                     bound.codec, bound.factor, bound.codec, needed));
}

}  // namespace

Bound parse_bound(std::string_view text) {
  const std::size_t sign = text.rfind("<=");
  double factor = 0;
  if (sign != std::string_view::npos && sign != 0) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + sign + 2, end, factor);
    if (error == std::errc{} && stop == end && factor > 0 && std::isfinite(factor))
      return {std::string(text.substr(0, sign)), factor};
  }
  throw UsageError(fmt::format(
      "--require '{}' should be CODEC<=FACTOR, e.g. 'signcount:error_feedback=on<=1.3'", text));
}

std::variant<ConvergenceOptions, Information> parse_convergence_options(int argc,
                                                                        const char* const* argv) {
  ConvergenceOptions options;
  std::vector<std::string> bounds;
  CLI::App app(
      "Minimises a problem by data-parallel SGD whose gradients are averaged by each codec in "
      "turn.\n"
      "Run it under mpirun; rank 0 prints.",
      "cohom-convergence");
  add_flags(app, options, bounds);
  if (auto information = parse(app, argc, argv)) return *std::move(information);
  for (const std::string& bound : bounds) options.bounds.push_back(parse_bound(bound));
  check(options);
  return options;
}

}  // namespace cohom::bench
