// cohom-bench: the compressed allreduce beside the native one, on the same vectors.
//
// Exit status: 0 measured, and all ranks had the same bits in every row; 1 they had not; 2 the
// command line, an input or a combination cannot be run (one message from rank 0, nothing
// measured).

#include "base/standard_output.hpp"
#include "bench_options.hpp"
#include "inputs.hpp"
#include "mpi_program.hpp"
#include "native.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "row_runner.hpp"
#include "table.hpp"

#include "mpi_ext/base/mpi_variable.hpp"

#include <cohom/communicator.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <memory>
#include <optional>
#include <vector>

namespace cohom::bench {
namespace {

enum ExitStatus : int { success = 0, ranks_differ = 1 };

/// What rank 0 prints and writes; other ranks have none.
struct Output {
  Output(const RunFacts& facts, const BenchOptions& options, std::size_t rows)
      : report(facts, options), table(facts, options), progress(!options.quiet, rows) {
    report.write();  // to find out now, not after the first row, that it cannot be
    print(table.head());
  }

  void add(const Row& row) {
    progress.clear();
    print(table.line(row));
    report.add(row);
    report.write();
  }

  static void print(const std::string& text) {
    fmt::print("{}", text);
    flush_standard_output();
  }

  Report report;
  Table table;
  Progress progress;
};

/// Runs every row.
int run_rows(const BenchOptions& options, Communicator& communicator) {
  const MPI_Comm world = mpi::program_ranks();
  const int rank = communicator.rank();
  const mpi::ToolInterface kept_open;  // each opening may load all components of Open MPI again
  RowRunner runner(options, communicator, world);
  run_on_all_ranks(world, [&] { runner.open_memory(); });
  for (const auto& codec : options.codecs)
    for (const auto& algorithm : options.algorithms) runner.check_combination(codec, algorithm);

  std::vector<std::unique_ptr<Input>> inputs;
  run_on_all_ranks(world, [&] {
    for (const auto& input : options.inputs)
      inputs.push_back(make_input(input, options.seed, rank));
  });

  std::optional<Output> output;
  run_on_all_ranks(world, [&] {
    if (rank != 0) return;
    const std::size_t rows = options.inputs.size() * options.sizes.size() * options.codecs.size() *
                             options.algorithms.size();
    output.emplace(collect_facts(communicator), options, rows);
  });

  bool identical = true;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const std::size_t size : options.sizes) {
      run_on_all_ranks(world, [&] { runner.make_vector(options.inputs[i], *inputs[i], size); });
      for (const auto& codec : options.codecs)
        for (const auto& algorithm : options.algorithms) {
          if (output)
            output->progress.show(
                fmt::format("{} {} {} {}", options.inputs[i], size_text(size), codec, algorithm));
          const Row row = runner.run(codec, algorithm);
          identical = identical && row.quality.identical_across_ranks;
          run_on_all_ranks(world, [&] {
            if (output) output->add(row);
          });
        }
    }
  run_on_all_ranks(world, [&] {
    if (!output) return;
    Output::print(output->table.foot());
    output->report.close();
  });
  return identical ? success : ranks_differ;
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  cohom::bench::allow_forced_algorithms();
  MPI_Init(&argc, &argv);
  const int status = cohom::bench::run_program("cohom-bench", argc, argv,
                                               cohom::bench::parse_options, cohom::bench::run_rows);
  MPI_Finalize();
  return status;
}
