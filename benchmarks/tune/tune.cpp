// cohom-tune: which calls should go by MPI's own reductions, in a file for COHOM_DECISIONS. Makes
// the calls as a program would, and lets them race.
//
// Exit status: 0 the file is written; 2 the command line, the input, a codec or the file cannot be
// used (one message from rank 0).

#include "base/standard_output.hpp"
#include "call/communicator_impl.hpp"
#include "element_values.hpp"
#include "inputs.hpp"
#include "mpi_program.hpp"
#include "reduction_plan.hpp"
#include "tune/tune_options.hpp"

#include <cohom/plan.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohom::bench {
namespace {

constexpr std::size_t window = 1 << 15;  // elements made at a time

Options raced(const std::string& codec) { return {.codec = codec, .native = "auto"}; }

/// Of a vector. Parts are equally long, so some fewer bytes than asked for.
std::size_t elements_of(const TuneOptions& options, std::size_t bytes, int ranks) {
  const std::size_t elements = bytes / size_of(options.type);
  if (!has_parts(options.collective)) return elements;
  const auto parts = static_cast<std::size_t>(ranks);
  return std::max<std::size_t>(elements / parts, 1) * parts;
}

Plan plan_of(const std::string& codec, const TuneOptions& options, std::size_t elements,
             Communicator& communicator) {
  return reduction_plan(options.collective, communicator, elements, options.type, raced(codec));
}

Elements vector_of(Input& input, const TuneOptions& options, std::size_t elements) {
  Elements vector(options.type, elements);
  input.set_length(vector.count);
  std::vector<double> values(std::min(window, vector.count));
  for (std::size_t first = 0; first < vector.count; first += window) {
    const auto part = std::span(values).first(std::min(window, vector.count - first));
    input.generate(first, part);
    store(options.type, part, vector.at(first));
  }
  return vector;
}

std::string head() {
  return fmt::format("{:<24} {:>5} {:>12}  {:<22} {:>10}  {}\n", "codec", "type", "bytes", "way",
                     "native ms", "own ways, ms");
}

std::string line_of(const RouteRaces::Entry& entry) {
  const CallKind& kind = entry.kind;
  using Way = RouteRace::Way;
  const RouteRace::Decision& decision = *entry.decision;
  std::string own;
  for (const Way way : {Way::own, Way::third})
    if (const std::string name = entry.name_of(way); !name.empty())
      own +=
          fmt::format("{}{} {:.4g}", own.empty() ? "" : ", ", name, 1e3 * decision.seconds_by(way));
  return fmt::format("{:<24} {:>5} {:>12}  {:<22} {:>10.4g}  {}\n", kind.codec, name_of(kind.type),
                     most_bytes(kind.size), entry.decided_way(),
                     1e3 * decision.seconds_by(Way::native), own);
}

std::uint64_t raced_calls(const RouteRaces& races) {
  std::uint64_t calls = 0;
  races.for_each([&](const RouteRaces::Entry& entry) { calls += entry.race.calls(); });
  return calls;
}

/// Returns whether they raced.
bool make_calls(const std::string& codec, const TuneOptions& options, const Elements& input,
                Elements& output, Communicator& communicator) {
  const std::uint64_t before = raced_calls(communicator.impl().races());
  Plan plan = plan_of(codec, options, input.count, communicator);
  for (int call = 0; call < options.calls; ++call) plan.execute(input.data(), output.data());
  return raced_calls(communicator.impl().races()) != before;
}

/// On rank 0, once all calls are made. `without_race`: by codec, the bytes of vectors that did not
/// race, as text.
void write(const TuneOptions& options, const RouteRaces& races,
           std::span<const std::string> without_race) {
  const RouteDecisions decisions = races.decisions();
  std::string table = head();
  races.for_each([&](const RouteRaces::Entry& entry) {
    if (entry.decision) table += line_of(entry);
  });
  if (decisions.empty())
    throw UsageError(
        "no call could go by MPI's own reduction: one rank, short vectors, codecs that keep state "
        "or bound errors, or a COHOM_ALGORITHM, COHOM_CHECKSUM, COHOM_PROGRESS or COHOM_TIMEOUT "
        "with which no call races");
  decisions.add_to(options.path);
  for (std::size_t i = 0; i < without_race.size(); ++i)
    if (!without_race[i].empty())
      table += fmt::format("{} does not race, and has no line, for bytes: {}\n", options.codecs[i],
                           without_race[i]);
  fmt::print("{}written to {}\n", table, options.path);
  flush_standard_output();
}

int tune(const TuneOptions& options, Communicator& communicator) {
  const MPI_Comm world = mpi::program_ranks();
  for (const std::string& codec : options.codecs)  // what cannot run is known before any call
    for (const std::size_t bytes : options.sizes)
      (void)plan_of(codec, options, elements_of(options, bytes, communicator.ranks()),
                    communicator);
  std::unique_ptr<Input> input;
  run_on_all_ranks(world, [&] {  // to find out now that it cannot be written or added to
    if (communicator.rank() == 0) RouteDecisions::check_writable(options.path);
  });
  run_on_all_ranks(world,
                   [&] { input = make_input(options.input, options.seed, communicator.rank()); });
  std::vector<std::string> without_race(options.codecs.size());  // by codec: bytes, or empty
  for (const std::size_t bytes : options.sizes) {
    Elements vector, output;
    run_on_all_ranks(world, [&] {
      vector = vector_of(*input, options, elements_of(options, bytes, communicator.ranks()));
      output = Elements(options.type, vector.count);
    });
    for (std::size_t i = 0; i < options.codecs.size(); ++i)
      if (!make_calls(options.codecs[i], options, vector, output, communicator))
        without_race[i] += fmt::format("{}{}", without_race[i].empty() ? "" : ", ",
                                       vector.count * size_of(options.type));
  }
  run_on_all_ranks(world, [&] {
    if (communicator.rank() == 0) write(options, communicator.impl().races(), without_race);
  });
  return 0;
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  // What an earlier file says would be no race.
  unsetenv("COHOM_DECISIONS");
  MPI_Init(&argc, &argv);
  const int status = cohom::bench::run_program(
      "cohom-tune", argc, argv, cohom::bench::parse_tune_options, cohom::bench::tune);
  MPI_Finalize();
  return status;
}
