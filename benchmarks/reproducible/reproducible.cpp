// cohom-reproducible: the same vectors, dealt to the ranks of the run, added by several methods.
//
// Exit status: 0 measured; 1 ranks had not the same bits; 2 the command line or the input cannot be
// run (one message from rank 0).

#include "reproducible/dealt_vectors.hpp"
#include "reproducible/method.hpp"
#include "reproducible/method_report.hpp"

#include "measure.hpp"
#include "mpi_program.hpp"
#include "report.hpp"

#include <cohom/communicator.hpp>

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohom::bench {
namespace {

enum ExitStatus : int { success = 0, ranks_differ = 1 };

std::vector<std::string> chosen_methods(const ReproducibleOptions& options) {
  if (!options.methods.empty()) return options.methods;
  std::vector<std::string> names;
  for (const auto& row : methods<float>()) names.emplace_back(row.name);
  return names;
}

template <class T>
std::unique_ptr<Method<T>> make_method(const std::string& name, const SumSize& size) {
  return std::ranges::find(methods<T>(), name, &MethodRow<T>::name)->make(size);
}

template <class T>
using Methods = std::vector<std::unique_ptr<Method<T>>>;

/// One sum of each method. `report` is rank 0's.
template <class T>
std::vector<MethodResult> judge_all(const Methods<T>& made, std::span<const std::string> names,
                                    const LocalVectors<T>& vectors,
                                    std::span<const double> expected, MPI_Comm comm,
                                    std::optional<MethodReport>& report) {
  std::vector<MethodResult> results;
  std::vector<T> out(expected.size());
  for (std::size_t m = 0; m < made.size(); ++m) {
    made[m]->sum(vectors, out);
    results.push_back(
        {.name = names[m], .judgement = judge<T>(out, expected, comm), .bytes = made[m]->bytes()});
    run_on_all_ranks(comm, [&] {
      if (report) report->save(m, std::as_bytes(std::span(out)));
    });
  }
  return results;
}

/// All methods in turn.
template <class T>
void measure(const Methods<T>& made, const LocalVectors<T>& vectors, int iterations,
             std::span<MethodResult> results, MPI_Comm comm) {
  std::vector<T> out(vectors.elements());
  std::vector<Contender> contenders;
  for (const auto& method : made)
    contenders.push_back({.prepare = [] {}, .run = [&] { method->sum(vectors, out); }});
  const Timing timing = measure_in_turn(contenders, {.iterations = iterations}, comm);
  for (std::size_t m = 0; m < made.size(); ++m) results[m].time = timing.times[m];
}

template <class T>
int run_as(const ReproducibleOptions& options, Communicator& communicator) {
  const MPI_Comm world = mpi::program_ranks();
  const int rank = communicator.rank();
  const std::size_t elements = options.elements();
  const Deal deal = options.deal
                        ? deal_at_random(options.vectors, communicator.ranks(), *options.deal)
                        : deal_in_blocks(options.vectors, communicator.ranks());
  const std::vector<std::string> names = chosen_methods(options);
  std::optional<MethodReport> report;
  std::optional<VectorSource> source;
  std::optional<LocalVectors<T>> vectors;
  run_on_all_ranks(world, [&] {
    if (rank == 0) report.emplace(collect_facts(communicator), options, deal, names);
    source.emplace(options.input, options.seed, options.vectors, elements);
    vectors =
        make_vectors<T>(*source, deal[static_cast<std::size_t>(rank)], elements, options.input);
  });

  Methods<T> made;
  for (const std::string& name : names)
    made.push_back(make_method<T>(name, {elements, options.vectors, world}));
  run_on_all_ranks(world, [&] {
    for (const auto& method : made) method->check(*vectors);
  });

  const std::vector<double> expected =
      correctly_rounded_sums(*source, options.vectors, elements, options.type, world);
  std::vector<MethodResult> results = judge_all<T>(made, names, *vectors, expected, world, report);
  if (!options.check_only) measure<T>(made, *vectors, options.iterations, results, world);
  run_on_all_ranks(world, [&] {
    if (report) report->finish(results);
  });
  const bool identical = std::ranges::all_of(
      results, [](const MethodResult& result) { return result.judgement.identical_across_ranks; });
  return identical ? success : ranks_differ;
}

int run(const ReproducibleOptions& options, Communicator& communicator) {
  return options.type == ElementType::f32 ? run_as<float>(options, communicator)
                                          : run_as<double>(options, communicator);
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status =
      cohom::bench::run_program("cohom-reproducible", argc, argv,
                                cohom::bench::parse_reproducible_options, cohom::bench::run);
  MPI_Finalize();
  return status;
}
