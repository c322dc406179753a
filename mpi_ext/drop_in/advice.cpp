#include "mpi_ext/drop_in/advice.hpp"

#include "base/text.hpp"
#include "memory/placement.hpp"
#include "mpi_ext/api/mpi_communicator.hpp"
#include "mpi_ext/base/mpi_check.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/error.hpp>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <string_view>

namespace cohom::mpi {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Of a few calls, after one that makes plans and takes memory.
template <class Call>
double best_time(Call call) {
  constexpr int timed = 3;
  call();
  double least = HUGE_VAL;
  for (int i = 0; i < timed; ++i) {
    const Clock::time_point begin = Clock::now();
    call();
    least = std::min(least, seconds_since(begin));
  }
  return least;
}

/// The third call of a kind, the thirtieth, and so on: the first ones are not like the others.
bool is_sample(std::uint64_t turn) {
  std::uint64_t next = 2;
  while (next < turn) next = 10 * next + 9;
  return next == turn;
}

/// long double, whose range has the squares of all doubles. Not a number where some are none.
template <class Element>
long double vnmse_of(const void* found, const void* exact, std::size_t elements) {
  long double error = 0, norm = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const long double wanted = static_cast<const Element*>(exact)[i];
    const long double off = static_cast<const Element*>(found)[i] - wanted;
    error += off * off;
    norm += wanted * wanted;
  }
  if (norm == 0) return error == 0 ? 0 : HUGE_VALL;
  return error / norm;
}

/// Infinite where numbers are not finite, so that nobody takes it for small.
double vnmse(ElementType type, const void* found, const void* exact, std::size_t elements) {
  std::fenv_t users;  // a program may trap what is no error here
  std::feholdexcept(&users);
  const long double error = type == ElementType::f64 ? vnmse_of<double>(found, exact, elements)
                                                     : vnmse_of<float>(found, exact, elements);
  const double told = std::isfinite(error) ? static_cast<double>(error) : HUGE_VAL;
  std::fesetenv(&users);
  return told;
}

}  // namespace

Advice::Advice(const std::string& codecs) {
  std::string_view rest = codecs;
  while (!rest.empty())
    if (const std::string_view codec = take_part(rest, ';'); !codec.empty())
      codecs_.emplace_back(codec);
  if (codecs_.empty())
    throw Error(ErrorKind::invalid_argument,
                "COHOM_ADVISE has no codec; it should be codecs with ; between them, such as "
                "\"exact;thc\"");
}

int Advice::make(const DropInCall& call, ElementType type, int ranks, std::uint64_t turn) {
  Copies copies;
  const bool sampled = is_sample(turn) && call.count > 0 && prepare(call, type, copies);
  const Clock::time_point begin = Clock::now();
  const int status = call.by_mpi();
  const double seconds = seconds_since(begin);
  AdvisedCalls made;
  if (sampled && status == MPI_SUCCESS) made = sample(call, type, copies);
  add({call.site, type, call.elements(), ranks}, seconds, made);
  return status;
}

/// Before MPI writes over the input.
bool Advice::prepare(const DropInCall& call, ElementType type, Copies& copies) const {
  const std::size_t bytes = call.elements() * size_of(type);
  std::uint64_t can = 1;
  try {
    if (placement_of(call.input(), call.recvbuf, type).on_device()) can = 0;
    if (can != 0)
      for (std::vector<std::byte>* const copy : {&copies.input, &copies.sum, &copies.output})
        copy->resize(bytes);
  } catch (const std::exception&) {
    can = 0;
  }
  check(PMPI_Allreduce(MPI_IN_PLACE, &can, 1, MPI_UINT64_T, MPI_MIN, call.comm), "PMPI_Allreduce");
  if (can != 0) std::memcpy(copies.input.data(), call.input(), bytes);
  return can != 0;
}

AdvisedCalls Advice::sample(const DropInCall& call, ElementType type, Copies& copies) const {
  AdvisedCalls entry;
  entry.samples = 1;
  const DropInCall again{copies.input.data(), copies.sum.data(), call.count, call.datatype, call.op,
                         call.comm,           call.site};
  entry.native_seconds = best_time([&] { check(again.by_mpi(), "MPI_Allreduce"); });
  for (const std::string& codec : codecs_)
    entry.trials.push_back(try_codec(call, type, copies, codec));
  return entry;
}

AdviceTrial Advice::try_codec(const DropInCall& call, ElementType type, Copies& copies,
                              const std::string& codec) const {
  // A buffer of its own for codecs that keep state: each try begins without any.
  const Options options{.codec = codec, .buffer = "advice", .native = "never"};
  AdviceTrial trial;
  try {
    Communicator& communicator = cached_communicator(call.comm, options);
    trial.seconds = best_time([&] {
      communicator.reset_state(options.buffer);
      allreduce(copies.input.data(), copies.output.data(), call.elements(), type, communicator,
                options);
    });
    trial.error = vnmse(type, copies.output.data(), copies.sum.data(), call.elements());
  } catch (const Error& error) {
    // Others may still be in the call.
    if (error.kind() == ErrorKind::transport) throw;
    trial.refusal = error.what();  // the same on all ranks
  }
  return trial;
}

void Advice::add(const Key& key, double seconds, const AdvisedCalls& sample) {
  const std::lock_guard lock(mutex_);
  AdvisedCalls& entry = entries_[key];
  ++entry.calls;
  entry.seconds += seconds;
  if (sample.samples == 0) return;
  ++entry.samples;
  entry.native_seconds += sample.native_seconds;
  entry.trials.resize(codecs_.size());
  for (std::size_t i = 0; i < codecs_.size(); ++i) {
    AdviceTrial& trial = entry.trials[i];
    trial.seconds += sample.trials[i].seconds;
    trial.error = std::max(trial.error, sample.trials[i].error);
    if (trial.refusal.empty()) trial.refusal = sample.trials[i].refusal;
  }
}

AdviceFindings Advice::findings() const {
  const std::lock_guard lock(mutex_);
  AdviceFindings findings{.codecs = codecs_, .calls = {}, .run_seconds = seconds_since(begin_)};
  for (const auto& [key, entry] : entries_) {
    findings.calls.push_back(entry);
    AdvisedCalls& calls = findings.calls.back();
    std::tie(calls.site, calls.type, calls.elements, calls.ranks) = key;
  }
  std::ranges::stable_sort(findings.calls, std::greater(), &AdvisedCalls::seconds);
  return findings;
}

}  // namespace cohom::mpi
