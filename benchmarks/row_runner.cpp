#include "row_runner.hpp"

#include "element_values.hpp"
#include "mpi_bytes.hpp"
#include "reduction_plan.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "shared_failure.hpp"
#include "union_over_ranks.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

namespace cohom::bench {
namespace {

constexpr int max_modelled_ranks = 1024;

WireBytes over_ranks(std::uint64_t here, MPI_Comm comm) {
  WireBytes bytes;
  MPI_Allreduce(&here, &bytes.busiest_rank, 1, MPI_UINT64_T, MPI_MAX, comm);
  MPI_Allreduce(&here, &bytes.all_ranks, 1, MPI_UINT64_T, MPI_SUM, comm);
  return bytes;
}

/// By which raw has the same bits: some aggregators in the network do not add floats.
std::string algorithm_of_raw(std::string_view algorithm) {
  if (algorithm == native_algorithm.name) return std::string(algorithm);
  const AlgorithmRow& row = *find_algorithm(algorithm);
  return std::string((row.in_network ? algorithm_that_merges_at_once() : row).name);
}

NativeTime best_of(std::span<const NativeCandidate> candidates,
                   std::span<const std::optional<TimeSummary>> times) {
  NativeTime native;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const auto& time = times[c];
    native.candidates.emplace_back(candidates[c].name,
                                   time ? std::optional(time->median) : std::nullopt);
    if (!time || (!native.algorithm.empty() && time->median >= native.time.median)) continue;
    native.time = *time;
    native.algorithm = candidates[c].name;
  }
  return native;
}

}  // namespace

RowRunner::RowRunner(const BenchOptions& options, Communicator& communicator, MPI_Comm comm)
    : options_(options),
      communicator_(communicator),
      comm_(comm),
      native_(comm, options.collective, options.type, options.nonblocking),
      vectors_(options.memory, comm) {
  if (communicator.rank() == 0) counter_command_ = counter_command_of_environment();
}

Options RowRunner::plan_options(const std::string& codec, const std::string& algorithm) const {
  return {.codec = codec,
          .algorithm = algorithm,
          .op = options_.op,
          .segment = options_.segment,
          .timeout = options_.timeout,
          .checksum = options_.checksum,
          .threads = options_.threads,
          .native = "never"};
}

Options RowRunner::timed_options(const std::string& codec, const std::string& algorithm) const {
  Options options = plan_options(codec, algorithm);
  options.native = options_.native;
  return options;
}

Plan RowRunner::make_plan(std::size_t elements, const Options& options) {
  return reduction_plan(options_.collective, communicator_, elements, options_.type, options);
}

void RowRunner::check_combination(const std::string& codec, const std::string& algorithm) {
  const auto ranks = static_cast<std::size_t>(communicator_.ranks());
  for (const std::size_t bytes : options_.sizes)
    if (const std::size_t count = bytes / size_of(options_.type);
        has_parts(options_.collective) && count % ranks != 0)
      throw Error(ErrorKind::invalid_argument,
                  "--size " + std::to_string(bytes) + " has " + std::to_string(count) +
                      " elements, which should be a multiple of the " + std::to_string(ranks) +
                      " ranks for --collective " + std::string(name_of(options_.collective)));
  const std::size_t smallest = *std::ranges::min_element(options_.sizes);
  const Plan plan = make_plan(smallest / size_of(options_.type), timed_options(codec, algorithm));
}

void RowRunner::make_vector(const std::string& spec, Input& input, std::size_t bytes) {
  const std::size_t count = bytes / size_of(options_.type);
  vector_ = {.bytes = bytes,
             .elements = count,
             .input = spec,
             .extended = count > input.elements(),
             .input_rows = input.rows()};
  native_time_.reset();
  exact_sums_.reset();
  rounded_sums_.reset();
  raw_hashes_.clear();
  // The old vectors go first, so that two sizes are never in memory together.
  input_ = output_ = {};
  input_ = Elements(options_.type, count);
  output_ = Elements(options_.type, count);
  input.set_length(count);
  std::vector<double> values(std::min(elements_at_a_time, count));
  for (std::size_t first = 0; first < count; first += elements_at_a_time) {
    const auto part = std::span(values).first(std::min(elements_at_a_time, count - first));
    input.generate(first, part);
    store(options_.type, part, input_.at(first));
  }
  if (gathers()) keep_own_part();
  vectors_.make(input_, output_);
}

/// So the sum over ranks is what an allgather should give.
void RowRunner::keep_own_part() {
  const std::size_t bytes = input_.bytes.size() / static_cast<std::size_t>(communicator_.ranks());
  const auto all = std::span(input_.bytes);
  std::ranges::fill(all.first(own_first()), std::byte{0});
  std::ranges::fill(all.subspan(own_first() + bytes), std::byte{0});
}

/// Bytes of a vector before what this rank brings of it.
std::size_t RowRunner::own_first() const {
  if (!gathers()) return 0;
  const auto ranks = static_cast<std::size_t>(communicator_.ranks());
  return input_.bytes.size() / ranks * static_cast<std::size_t>(communicator_.rank());
}

void RowRunner::restore_native_input() {
  if (options_.in_place) std::memcpy(output_.data(), input_.data(), input_.bytes.size());
}

void RowRunner::run_native(const NativeCandidate& candidate) {
  const void* const own = input_.bytes.data() + own_first();
  const void* const input = options_.in_place ? MPI_IN_PLACE : own;
  native_.run(candidate, input, output_.data(), input_.count);
}

void RowRunner::restore_calls_input() {
  if (options_.in_place) vectors_.put_input_in_place();
}

/// Every rank gets what others have of the result: it is judged as an allreduce's is.
void RowRunner::collect_output() {
  vectors_.fetch_output();
  if (options_.collective == ReductionKind::allreduce || gathers()) return;
  const auto bytes = static_cast<int>(size_of(options_.type));
  MPI_Datatype element = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(bytes, MPI_BYTE, &element);
  MPI_Type_commit(&element);
  const auto count = static_cast<int>(output_.count);
  if (options_.collective == ReductionKind::reduce) {
    MPI_Bcast(output_.data(), count, element, 0, comm_);
  } else {
    const int part = count / communicator_.ranks();
    Elements own(options_.type, static_cast<std::size_t>(part));
    std::memcpy(own.data(), output_.data(), own.bytes.size());
    MPI_Allgather(own.data(), part, element, output_.data(), part, element, comm_);
  }
  MPI_Type_free(&element);
}

void RowRunner::call(Plan& plan) {
  const void* const vector = options_.in_place ? vectors_.output() : vectors_.input();
  const void* const input = static_cast<const std::byte*>(vector) + own_first();
  if (!options_.nonblocking) return plan.execute(input, vectors_.output());
  plan.start(input, vectors_.output());
  while (!plan.test()) continue;
  plan.wait();
}

/// Of what raw makes of the vector, reduced once, into the output; nothing where raw is
/// unsupported.
std::optional<std::uint64_t> RowRunner::raw_hash(const std::string& algorithm) {
  const auto [hash, fresh] = raw_hashes_.try_emplace(algorithm);
  if (!fresh) return hash->second;
  try {
    Plan plan = make_plan(input_.count, plan_options("raw", algorithm));
    restore_calls_input();
    call(plan);
    collect_output();
  } catch (const Error& error) {  // on all ranks alike
    if (error.kind() != ErrorKind::unsupported) throw;
    return std::nullopt;
  }
  QualityMeter meter(1, comm_);
  meter.add_result(output_);
  return hash->second = meter.hash();
}

void RowRunner::check(Row& row) {
  Plan plan = make_plan(row.elements, plan_options(row.codec, row.algorithm));
  QualityMeter meter(options_.steps, comm_);
  std::uint64_t sent = 0, handed_to_mpi = 0;
  for (int step = 0; step < options_.steps; ++step) {
    // A codec that leaves the output untouched must not pass by what the last row left in it.
    std::ranges::fill(output_.bytes, std::byte{0xff});
    vectors_.set_output();
    restore_calls_input();
    const std::uint64_t sent_before = communicator_.wire_counters().bytes_sent;
    const std::uint64_t mpi_before = bytes_handed_to_mpi();
    call(plan);
    sent = communicator_.wire_counters().bytes_sent - sent_before;
    handed_to_mpi = bytes_handed_to_mpi() - mpi_before;
    collect_output();
    meter.add_result(output_);
  }
  row.plan = plan.describe();  // after a call, which knows where buffers lie
  row.quality = meter.finish(*exact_sums_, output_, options_.op);
  row.rounded = rounded_sums_->count_in(output_);
  if (const auto raw = raw_hash(algorithm_of_raw(row.plan.algorithm)))
    row.equals_raw = row.quality.result_hash == *raw;

  const WireBytes mpi = over_ranks(handed_to_mpi, comm_);
  if (mpi.busiest_rank > 0)
    row.mpi_bytes = mpi.busiest_rank;
  else
    row.wire = over_ranks(sent, comm_);
  row.formula = wire_formula(row.plan.codec, row.plan.algorithm, row.elements, options_.type,
                             communicator_.ranks(), row.shape, last_step(),
                             communicator_.topology().nodes.of_rank,
                             communicator_.topology().switches.of_rank, options_.collective);
  if (communicator_.rank() == 0 && !options_.json_path.empty())
    row.formula_by_ranks = formula_by_ranks(row);
}

/// Schedules of so many ranks take a second of a core, and inputs do not matter.
const FormulaByRanks& RowRunner::formula_by_ranks(const Row& row) {
  const auto [entry, is_new] =
      formulas_.try_emplace({row.plan.codec, row.plan.algorithm, row.elements});
  if (!is_new) return entry->second;
  // Without the shape: the union of other numbers of ranks is not known.
  for (int ranks = 2; ranks <= max_modelled_ranks; ranks *= 2)
    if (const auto bytes =
            wire_formula(row.plan.codec, row.plan.algorithm, row.elements, options_.type, ranks,
                         std::nullopt, last_step(), {}, {}, options_.collective))
      entry->second.emplace_back(ranks, bytes->busiest_rank);
  return entry->second;
}

std::vector<Contender> RowRunner::native_contenders() {
  std::vector<Contender> contenders;
  for (const NativeCandidate& candidate : native_.candidates())
    contenders.push_back({.prepare = [this] { restore_native_input(); },
                          .run = [this, &candidate] { run_native(candidate); },
                          .rival = true});
  return contenders;
}

/// In turns of their own.
NativeTime RowRunner::time_native() {
  const Timing timing =
      measure_in_turn(native_contenders(), {.iterations = options_.iterations}, comm_);
  return best_of(native_.candidates(), timing.times);
}

Timed RowRunner::measure(const Row& row) {
  Plan plan = make_plan(row.elements, timed_options(row.codec, row.algorithm));
  const std::uint64_t native_before = communicator_.native_calls();
  const std::uint64_t third_before = communicator_.third_calls();
  ProfileMeter meter;
  std::vector<Contender> contenders;
  contenders.push_back({.prepare = [this] { restore_calls_input(); },
                        .run =
                            [&] {
                              if (options_.profile)
                                meter.run(communicator_, [&] { call(plan); });
                              else
                                call(plan);
                            }});
  if (options_.native_apart && !native_time_) native_time_ = time_native();
  if (!native_time_) std::ranges::copy(native_contenders(), std::back_inserter(contenders));
  Counters counters;
  const auto start_counting = [&] {
    run_on_all_ranks(comm_, [&] {
      if (counter_command_) counters = counter_command_->read();
    });
    meter.reset();
  };
  const Timing timing = measure_in_turn(
      contenders,
      {.warmup = options_.warmup, .iterations = options_.iterations, .warm = start_counting},
      comm_);
  run_on_all_ranks(comm_, [&] {
    if (counter_command_) counters = counter_command_->since(counters);
  });
  Timed timed{.iterations = timing.iterations,
              .plan = plan.describe(),
              .native_calls = communicator_.native_calls() - native_before,
              .third_calls = communicator_.third_calls() - third_before,
              .time = *timing.times.front(),
              .native = native_time_
                            ? *native_time_
                            : best_of(native_.candidates(), std::span(timing.times).subspan(1)),
              .counters = std::move(counters)};
  if (options_.profile) timed.profile = meter.means(comm_);
  return timed;
}

/// A communicator connects to its aggregator in the background, and calls that come before go from
/// rank to rank. What is measured is what comes behind, so the first row waits a few seconds.
void RowRunner::wait_for_aggregator(const Row& row) {
  constexpr int max_calls = 300;  // alike on all ranks, as is whether a call was offloaded
  Plan plan = make_plan(row.elements, plan_options(row.codec, row.algorithm));
  if (plan.describe().other_algorithm.empty() || std::exchange(waited_for_aggregator_, true))
    return;
  const std::uint64_t offloaded = communicator_.offload_counters().offloaded;
  for (int calls = 0; calls < max_calls; ++calls) {
    restore_calls_input();
    call(plan);
    if (communicator_.offload_counters().offloaded != offloaded) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// What all rows of a vector share.
void RowRunner::learn_about_vector() {
  vector_.shape = union_over_ranks(input_, comm_);
  exact_sums_.emplace(input_, comm_);
  rounded_sums_.emplace(input_, options_.op, comm_);
  if (options_.op == ReduceOp::mean) return;
  restore_native_input();
  run_native(native_.candidates().front());
  if (options_.collective != ReductionKind::allreduce && !gathers())
    return;  // a rank has a part, or none
  vector_.native_rounded = rounded_sums_->count_in(output_);
}

Row RowRunner::run(const std::string& codec, const std::string& algorithm) {
  if (!rounded_sums_) learn_about_vector();
  Row row = vector_;
  row.codec = codec;
  row.algorithm = algorithm;
  wait_for_aggregator(row);
  const OffloadCounters before = communicator_.offload_counters();
  check(row);
  if (!options_.check_only) row.timed = measure(row);
  if (!row.plan.other_algorithm.empty()) row.offloading = communicator_.offload_counters() - before;
  return row;
}

}  // namespace cohom::bench
