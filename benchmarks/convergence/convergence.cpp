// cohom-convergence: what codecs do to training. Minimises a problem by data-parallel SGD with each
// codec in turn, and writes the loss against steps and against bytes sent.
//
// Exit status: 0 done; 1 a bound of --require is broken; 2 the command line, the data or a codec
// cannot be run (one message from rank 0).

#include "base/standard_output.hpp"
#include "convergence_options.hpp"
#include "mpi_program.hpp"
#include "output_file.hpp"
#include "problem.hpp"
#include "training.hpp"

#include <cohom/communicator.hpp>

#include <fmt/format.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohom::bench {
namespace {

enum ExitStatus : int { success = 0, bound_broken = 1 };

/// What rank 0 prints and writes; other ranks have none.
class Output {
 public:
  Output(const ConvergenceOptions& options, const Problem& problem, int ranks)
      : options_(options),
        report_{{"problem", options.problem},
                {"heterogeneous", options.heterogeneous},
                {"ranks", ranks},
                {"parameters", problem.parameters()},
                {"rate", options.rate},
                {"algorithm", options.algorithm},
                {"seed", options.seed},
                {"curves", nlohmann::json::array()}} {
    if (!options.json_path.empty()) file_.emplace("--json", options.json_path);
    write();  // to find out now, not after the training, that it cannot be
  }

  void add(const std::string& codec, const Curve& curve) {
    print(fmt::format("{:<10} {:<45} loss {:<10.4g} (last tenth {:.4g})  {:.3g} MB a rank\n",
                      options_.problem, codec, curve.losses.back(), curve.last(),
                      curve.bytes.back() / 1e6));
    report_["curves"].push_back({{"codec", codec},
                                 {"steps", curve.steps},
                                 {"bytes", curve.bytes},
                                 {"losses", curve.losses},
                                 {"last", curve.last()}});
    write();
  }

  /// After the last curve.
  void close() {
    if (file_) file_->close();
  }

  static void print(const std::string& text) {
    fmt::print("{}", text);
    flush_standard_output();
  }

 private:
  void write() {
    if (file_) file_->write(report_.dump(1) + "\n");
  }

  const ConvergenceOptions& options_;
  nlohmann::json report_;
  std::optional<OutputFile> file_;
};

/// Says of each bound how far it is kept; returns whether all are. A loss that is not a number
/// keeps none.
bool bounds_hold(const std::vector<Bound>& bounds, const std::map<std::string, double>& last,
                 bool speaks) {
  bool all = true;
  for (const auto& [codec, factor] : bounds) {
    const double ratio = last.at(codec) / last.at("raw");
    const bool holds = ratio <= factor;
    all = all && holds;
    if (speaks)
      Output::print(fmt::format("{} ends at {:.4g} times raw's loss, at most {:.4g} required: {}\n",
                                codec, ratio, factor, holds ? "holds" : "BROKEN"));
  }
  return all;
}

std::unique_ptr<Problem> make_problem(const ConvergenceOptions& options,
                                      const Communicator& communicator) {
  const ProblemOptions own{.rank = communicator.rank(),
                           .ranks = communicator.ranks(),
                           .heterogeneous = options.heterogeneous,
                           .seed = options.seed,
                           .data = options.data};
  return options.problem == "digits" ? make_digits(own) : make_quadratic(own);
}

int run(const ConvergenceOptions& options, Communicator& communicator) {
  const bool speaks = communicator.rank() == 0;
  std::unique_ptr<Problem> problem;
  run_on_all_ranks(mpi::program_ranks(), [&] { problem = make_problem(options, communicator); });
  for (const std::string& codec : options.codecs)  // what cannot run is known before any training
    (void)averaging_plan(options, *problem, codec, communicator);
  std::optional<Output> output;
  run_on_all_ranks(mpi::program_ranks(), [&] {
    if (speaks) output.emplace(options, *problem, communicator.ranks());
  });

  std::map<std::string, double> last;
  for (const std::string& codec : options.codecs) {
    const Curve curve = train(options, *problem, codec, communicator);
    last[codec] = curve.last();
    run_on_all_ranks(mpi::program_ranks(), [&] {
      if (output) output->add(codec, curve);
    });
  }
  run_on_all_ranks(mpi::program_ranks(), [&] {
    if (output) output->close();
  });
  return bounds_hold(options.bounds, last, speaks) ? success : bound_broken;
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = cohom::bench::run_program(
      "cohom-convergence", argc, argv, cohom::bench::parse_convergence_options, cohom::bench::run);
  MPI_Finalize();
  return status;
}
