// convergence: what codecs do to training. Minimises a problem by data-parallel SGD with each codec in
// turn, and writes the loss against steps and against bytes sent.

#include "problem.hpp"

#include <cohom/communicator.hpp>
#include <cohom/error.hpp>
#include <cohom/mpi.hpp>
#include <cohom/plan.hpp>

#include <mpi.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace cohom::bench {
namespace {

struct Settings {
  std::string problem = "quadratic";
  std::vector<std::string> codecs;
  std::string algorithm = "direct";
  std::string data = "benchmarks/data/digits_images.u8";
  std::string json;
  bool heterogeneous = false;
  double rate = 0.01;
  std::uint64_t steps = 2000;
  std::uint64_t every =
      17;  ///< no multiple of a period: right after a full-precision call all look well
  std::uint64_t seed = 1;
};

struct Curve {
  std::vector<std::uint64_t> steps;
  std::vector<double> bytes;  ///< sent by this rank up to there
  std::vector<double> losses;

  /// Mean loss of the last tenth.
  [[nodiscard]] double last() const {
    const std::size_t count = std::max<std::size_t>(1, losses.size() / 10);
    double sum = 0;
    for (std::size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
    return sum / static_cast<double>(count);
  }
};

Curve train(const Settings& settings, Problem& problem, const std::string& codec,
            Communicator& communicator) {
  AllreducePlan plan(communicator, problem.parameters(), ElementType::f32,
                     {.codec = codec, .algorithm = settings.algorithm, .op = ReduceOp::mean});
  std::vector<float> weights = problem.start(), gradient(weights.size());
  const std::uint64_t before = communicator.wire_counters().bytes_sent;
  Curve curve;
  for (std::uint64_t step = 0; step <= settings.steps; ++step) {
    if (step % settings.every == 0) {
      curve.steps.push_back(step);
      curve.bytes.push_back(static_cast<double>(communicator.wire_counters().bytes_sent - before));
      curve.losses.push_back(problem.loss(weights));
    }
    problem.gradient(weights, step, gradient);
    plan.execute(gradient.data(), gradient.data());
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] -= static_cast<float>(settings.rate) * gradient[i];
  }
  return curve;
}

nlohmann::json run(const Settings& settings, Communicator& communicator) {
  const ProblemOptions options{.rank = communicator.rank(),
                               .ranks = communicator.ranks(),
                               .heterogeneous = settings.heterogeneous,
                               .seed = settings.seed,
                               .data = settings.data};
  const auto problem =
      settings.problem == "digits" ? make_digits(options) : make_quadratic(options);
  nlohmann::json report = {
      {"problem", settings.problem},   {"heterogeneous", settings.heterogeneous},
      {"ranks", communicator.ranks()}, {"parameters", problem->parameters()},
      {"rate", settings.rate},         {"algorithm", settings.algorithm},
      {"seed", settings.seed},         {"curves", nlohmann::json::array()}};
  for (const std::string& codec : settings.codecs) {
    const Curve curve = train(settings, *problem, codec, communicator);
    report["curves"].push_back({{"codec", codec},
                                {"steps", curve.steps},
                                {"bytes", curve.bytes},
                                {"losses", curve.losses},
                                {"last", curve.last()}});
    if (communicator.rank() == 0)
      std::printf("%-10s %-45s loss %-10.4g (last tenth %.4g)  %.3g MB a rank\n",
                  settings.problem.c_str(), codec.c_str(), curve.losses.back(), curve.last(),
                  curve.bytes.back() / 1e6);
  }
  return report;
}

void add_options(CLI::App& app, Settings& settings) {
  app.add_option("--problem", settings.problem, "quadratic or digits")
      ->check(CLI::IsMember({"quadratic", "digits"}))
      ->capture_default_str();
  app.add_flag("--heterogeneous", settings.heterogeneous, "ranks see different data");
  app.add_option("--codec", settings.codecs, "codec spec; may be repeated")->required();
  app.add_option("--algorithm", settings.algorithm, "of the allreduce")->capture_default_str();
  app.add_option("--rate", settings.rate, "learning rate")->capture_default_str();
  app.add_option("--steps", settings.steps, "of SGD")->capture_default_str();
  app.add_option("--every", settings.every, "steps from one loss to the next")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "of data and noise")->capture_default_str();
  app.add_option("--data", settings.data, "file of digits")->capture_default_str();
  app.add_option("--json", settings.json, "file for the curves");
}

/// On rank 0 what went wrong is printed; the job ends, because other ranks may wait.
int guarded(const Settings& settings) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    Communicator communicator = mpi::communicator(MPI_COMM_WORLD);
    const auto report = run(settings, communicator);
    if (rank == 0 && !settings.json.empty()) {
      std::ofstream file(settings.json);
      file << report.dump(1) << '\n';
      if (!file) throw std::runtime_error("cannot write " + settings.json);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "convergence: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 0;
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  using namespace cohom::bench;
  Settings settings;
  CLI::App app(
      "Minimises a problem by data-parallel SGD whose gradients are averaged by each codec");
  add_options(app, settings);
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  const int status = guarded(settings);
  MPI_Finalize();
  return status;
}
