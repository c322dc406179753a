// What it costs ranks to agree on a call before MPI's own reduction sums its vector: as this
// library does with native=always, and as a program of MPI calls alone could.

#include "bench_options.hpp"
#include "measure.hpp"
#include "mpi_program.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>

#include <fmt/format.h>
#include <mpi.h>
#include <CLI/CLI.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <variant>
#include <vector>

namespace cohom::bench {
namespace {

struct AgreementCostOptions {
  std::vector<std::size_t> sizes;
  int iterations = 200;
};

std::variant<AgreementCostOptions, Information> parse_agreement_cost_options(
    int argc, const char* const* argv) {
  AgreementCostOptions options;
  std::string sizes = "64K,256K,1M";
  CLI::App app(
      "Measures MPI_Allreduce alone, behind another MPI_Allreduce of 48 bytes (as many as ranks\n"
      "need to agree on a call), and as this library calls it (native=always). Medians: a time,\n"
      "and how fast the others are beside it. Less than 1 is slower.",
      "agreement_cost");
  app.add_option("--size", sizes, "bytes of the vectors: comma list of N, NK, NM and ranges a:b")
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "timed calls of each kind, in turn")
      ->check(whole_number(1))
      ->capture_default_str();
  if (auto information = parse(app, argc, argv)) return *information;
  options.sizes = parse_sizes(sizes, ElementType::f32);
  return options;
}

std::string row_of(std::size_t size, int iterations, Communicator& communicator) {
  const MPI_Comm comm = mpi::program_ranks();
  const std::size_t elements = size / sizeof(float);
  const std::vector<float> input(elements, 0.5f);
  std::vector<float> output(elements);
  const Options options{.codec = "raw", .native = "always"};
  std::array<std::uint64_t, 6> words{}, agreed{};
  const auto sum = [&] {
    MPI_Allreduce(input.data(), output.data(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM,
                  comm);
  };
  const auto agree = [&] {
    MPI_Allreduce(words.data(), agreed.data(), static_cast<int>(words.size()), MPI_UINT64_T,
                  MPI_MAX, comm);
  };
  const std::vector<Contender> contenders{
      {.prepare = [] {}, .run = sum},
      {.prepare = [] {},
       .run =
           [&] {
             agree();
             sum();
           }},
      {.prepare = [] {}, .run = [&] { allreduce(input, output, communicator, options); }}};
  const auto times =
      measure_in_turn(contenders, {.warmup = 20, .iterations = iterations}, comm).times;
  const double alone = times[0]->median;
  return fmt::format("| {} | {:.1f} | {:.2f} | {:.2f} |", size, 1e6 * alone,
                     alone / times[1]->median, alone / times[2]->median);
}

int run(const AgreementCostOptions& options, Communicator& communicator) {
  const bool prints = communicator.rank() == 0;
  if (prints) fmt::print("| bytes | MPI's sum, us | behind MPI's agreement | cohom's |\n");
  if (prints) fmt::print("|---|---|---|---|\n");
  for (const std::size_t size : options.sizes) {
    const std::string row = row_of(size, options.iterations, communicator);
    if (prints) fmt::print("{}\n", row);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = cohom::bench::run_program(
      "agreement_cost", argc, argv, cohom::bench::parse_agreement_cost_options, cohom::bench::run);
  MPI_Finalize();
  return status;
}
