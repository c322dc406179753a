// How long the first call of a kind takes beside MPI's own call: with all that it has to find out
// and to take, on a communicator that has made another call before.

#include "bench_options.hpp"
#include "measure.hpp"
#include "mpi_program.hpp"
#include "some_values.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>

#include <fmt/format.h>
#include <mpi.h>
#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cohom::bench {
namespace {

struct FirstCallOptions {
  std::vector<std::string> codecs = {"thc", "packed", "signcount", "raw"};
  std::vector<std::size_t> sizes;
  int runs = 9;
};

std::variant<FirstCallOptions, Information> parse_first_call_options(int argc,
                                                                     const char* const* argv) {
  FirstCallOptions options;
  std::string sizes = "4K,64K,1M,4M,16M,64M";
  CLI::App app(
      "Measures the first call of a kind beside MPI's own call of the same vector. A cell is the\n"
      "time of the first call over that of MPI's, medians: more than 1 is slower.",
      "first_call");
  app.add_option("--codec", options.codecs, "codec spec; may be repeated")
      ->allow_extra_args(false)
      ->check(some_codec())
      ->capture_default_str();
  app.add_option("--size", sizes, "bytes of the vectors: comma list of N, NK, NM and ranges a:b")
      ->capture_default_str();
  app.add_option("--runs", options.runs, "each with a communicator of its own")
      ->check(whole_number(1))
      ->capture_default_str();
  if (auto information = parse(app, argc, argv)) return *information;
  options.sizes = parse_sizes(sizes, ElementType::f32);
  return options;
}

/// The first call's median over MPI's.
double ratio_of(const std::string& codec, std::size_t elements, int runs) {
  const MPI_Comm comm = mpi::program_ranks();
  const std::vector<float> input = some_values(elements);
  std::vector<float> output(elements);
  std::optional<Communicator> fresh;
  const Options options{.codec = codec};
  const std::vector<Contender> contenders{
      {.prepare =
           [&] {
             fresh.emplace(mpi::communicator(comm));
             float one = 1;
             allreduce(std::span(&one, 1), *fresh, options);
           },
       .run =
           [&] {
             allreduce(input.data(), output.data(), elements, ElementType::f32, *fresh, options);
           }},
      {.prepare = [] {},
       .run =
           [&] {
             MPI_Allreduce(input.data(), output.data(), int(elements), MPI_FLOAT, MPI_SUM, comm);
           }}};
  const Timing timing = measure_in_turn(contenders, {.warmup = 1, .iterations = runs}, comm);
  return timing.times[0]->median / timing.times[1]->median;
}

int run(const FirstCallOptions& options, Communicator& communicator) {
  std::string head = "| bytes |", line = "|---|";
  for (const std::string& codec : options.codecs) {
    head += fmt::format(" `{}` |", codec);
    line += "---|";
  }
  if (communicator.rank() == 0) fmt::print("{}\n{}\n", head, line);
  for (const std::size_t size : options.sizes) {
    std::string row = fmt::format("| {} |", size);
    for (const std::string& codec : options.codecs)
      row += fmt::format(" {:.2f} |", ratio_of(codec, size / sizeof(float), options.runs));
    if (communicator.rank() == 0) fmt::print("{}\n", row);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = cohom::bench::run_program(
      "first_call", argc, argv, cohom::bench::parse_first_call_options, cohom::bench::run);
  MPI_Finalize();
  return status;
}
