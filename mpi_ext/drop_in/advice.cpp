#include "mpi_ext/drop_in/advice.hpp"

#include "base/text.hpp"
#include "memory/placement.hpp"
#include "mpi_ext/api/mpi_communicator.hpp"
#include "mpi_ext/base/mpi_check.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/error.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

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

/// By its name: short vectors go raw whatever the codec.
bool is_lossless(std::string_view codec) {
  constexpr std::string_view names[] = {"raw", "exact", "sparse", "sparse+exact", "sketch"};
  return std::ranges::find(names, codec.substr(0, codec.find(':'))) != std::end(names);
}

/// A function and the file that has it, as far as the dynamic linker knows.
std::string site_text(const void* site) {
  Dl_info info{};
  if (dladdr(site, &info) == 0 || info.dli_fname == nullptr) return fmt::format("{}", site);
  const std::string_view path = info.dli_fname;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const auto offset =
      static_cast<const char*>(site) -
      static_cast<const char*>(info.dli_sname != nullptr ? info.dli_saddr : info.dli_fbase);
  return printable(info.dli_sname != nullptr
                       ? fmt::format("{}+{:#x} in {}", info.dli_sname, offset, file)
                       : fmt::format("{}+{:#x}", file, offset));
}

constexpr double worth_while = 1.05;            // times native's speed
constexpr std::size_t short_vector = 16 << 10;  // bytes; those up to it go raw

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
  Entry made;
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

Advice::Entry Advice::sample(const DropInCall& call, ElementType type, Copies& copies) const {
  Entry entry{.samples = 1};
  const DropInCall again{copies.input.data(), copies.sum.data(), call.count, call.datatype, call.op,
                         call.comm,           call.site};
  entry.native_seconds = best_time([&] { check(again.by_mpi(), "MPI_Allreduce"); });
  for (const std::string& codec : codecs_)
    entry.trials.push_back(try_codec(call, type, copies, codec));
  return entry;
}

Advice::Trial Advice::try_codec(const DropInCall& call, ElementType type, Copies& copies,
                                const std::string& codec) const {
  // A buffer of its own for codecs that keep state: each try begins without any.
  const Options options{.codec = codec, .buffer = "advice", .native = "never"};
  Trial trial;
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

void Advice::add(const Key& key, double seconds, const Entry& sample) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[key];
  ++entry.calls;
  entry.seconds += seconds;
  if (sample.samples == 0) return;
  ++entry.samples;
  entry.native_seconds += sample.native_seconds;
  entry.trials.resize(codecs_.size());
  for (std::size_t i = 0; i < codecs_.size(); ++i) {
    Trial& trial = entry.trials[i];
    trial.seconds += sample.trials[i].seconds;
    trial.error = std::max(trial.error, sample.trials[i].error);
    if (trial.refusal.empty()) trial.refusal = sample.trials[i].refusal;
  }
}

namespace {

/// Times native's speed; 0: the codec made none.
template <class Entry, class Trial>
double gain(const Entry& entry, const Trial& trial) {
  return trial.refusal.empty() && trial.seconds > 0 ? entry.native_seconds / trial.seconds : 0;
}

}  // namespace

std::string Advice::text_of(const Key& key, const Entry& entry) const {
  const auto& [site, type, elements, ranks] = key;
  std::string text = fmt::format("\n{:>9} calls of {:>10} {}, {} ranks, {:.3g} s: {}", entry.calls,
                                 bytes_text(elements * size_of(type)), name_of(type), ranks,
                                 entry.seconds, site_text(site));
  if (entry.samples == 0)
    text += "\n    not tried: no third call of that length on a communicator came from here";
  for (std::size_t i = 0; i < entry.trials.size(); ++i) {
    const Trial& trial = entry.trials[i];
    text += trial.refusal.empty() ? fmt::format("\n    {:<20} {:6.2f} times as fast, error {:.2g}",
                                                codecs_[i], gain(entry, trial), trial.error)
                                  : fmt::format("\n    {:<20} not: {}", codecs_[i], trial.refusal);
  }
  return text;
}

/// Of all calls that were tried with so many bytes or more: what slower ones lose is taken off.
/// None is saved where the codec cannot make some.
double Advice::saved_by(std::size_t codec, std::size_t least_bytes) const {
  double saved = 0;
  for (const auto& [key, entry] : entries_) {
    if (entry.samples == 0 || std::get<2>(key) * size_of(std::get<1>(key)) < least_bytes) continue;
    const double times = gain(entry, entry.trials[codec]);
    if (times == 0) return 0;
    saved += entry.seconds * (1 - 1 / times);
  }
  return saved;
}

/// The codec that saves most, and the length from which on it does.
std::string Advice::rule(bool lossless) const {
  std::size_t best = 0, least_bytes = 0, most_bytes = 0;
  double most = 0, all = 0;
  for (const auto& [key, entry] : entries_) {
    all += entry.seconds;
    const std::size_t bytes = std::get<2>(key) * size_of(std::get<1>(key));
    if (entry.samples == 0 || bytes <= short_vector) continue;
    most_bytes = std::max(most_bytes, bytes);
    for (std::size_t i = 0; i < codecs_.size(); ++i) {
      const double saved = lossless && !is_lossless(codecs_[i]) ? 0 : saved_by(i, bytes);
      if (saved <= most) continue;
      most = saved;
      best = i;
      least_bytes = bytes;
    }
  }
  const std::string_view which = lossless ? "without loss" : "with the errors above";
  if (most < (1 - 1 / worth_while) * all || most == 0)
    return fmt::format("\n{}: no codec saves a twentieth of that time", which);
  return fmt::format("\n{}: {:.3g} s less with the rule\n    codec={} bytes={}:{}", which, most,
                     codecs_[best], least_bytes, most_bytes + 1);
}

std::string Advice::report() const {
  const std::lock_guard lock(mutex_);
  std::vector<const std::pair<const Key, Entry>*> order;
  double seconds = 0;
  std::uint64_t calls = 0;
  for (const auto& entry : entries_) {
    order.push_back(&entry);
    seconds += entry.second.seconds;
    calls += entry.second.calls;
  }
  std::ranges::stable_sort(order, std::greater(),
                           [](const auto* entry) { return entry->second.seconds; });
  const double run = seconds_since(begin_);
  std::string text = fmt::format(
      "advice: {} of MPI_Allreduce on real numbers took {:.3g} s of {:.3g} s ({:.0f}%) of rank 0",
      counted(calls, "call"), seconds, run, 100 * seconds / run);
  constexpr std::size_t most_lines = 20;
  for (std::size_t i = 0; i < std::min(order.size(), most_lines); ++i)
    text += text_of(order[i]->first, order[i]->second);
  if (order.size() > most_lines)
    text += fmt::format("\n  and {} kinds more that took less time", order.size() - most_lines);
  const bool tried =
      std::ranges::any_of(entries_, [](const auto& each) { return each.second.samples != 0; });
  if (!tried) return text + "\nnothing was tried: no communicator had three calls of one length";
  return text + rule(true) + rule(false);
}

}  // namespace cohom::mpi
