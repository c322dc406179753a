#include "mpi_ext/drop_in/advice_findings.hpp"

#include "base/text.hpp"
#include "mpi_ext/drop_in/call_site.hpp"

#include <cohom/version.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace cohom::mpi {

namespace {

constexpr double worth_while = 1.05;            // times native's speed
constexpr std::size_t short_vector = 16 << 10;  // bytes; those up to it go raw

/// By its name: short vectors go raw whatever the codec.
bool is_lossless(std::string_view codec) {
  constexpr std::string_view names[] = {"raw", "exact", "sparse", "sparse+exact", "sketch"};
  return std::ranges::find(names, codec.substr(0, codec.find(':'))) != std::end(names);
}

std::string text_of(const AdvisedCalls& calls, const std::vector<std::string>& codecs,
                    const CallSites& sites) {
  std::string text = fmt::format("\n{:>9} calls of {:>10} {}, {} ranks, {:.3g} s: {}", calls.calls,
                                 bytes_text(calls.bytes()), name_of(calls.type), calls.ranks,
                                 calls.seconds, sites.text(calls.site));
  if (calls.samples == 0)
    text += "\n    not tried: no third call of that length on a communicator came from here";
  for (std::size_t i = 0; i < calls.trials.size(); ++i) {
    const AdviceTrial& trial = calls.trials[i];
    text += trial.refusal.empty() ? fmt::format("\n    {:<20} {:6.2f} times as fast, error {:.2g}",
                                                codecs[i], calls.gain(i), trial.error)
                                  : fmt::format("\n    {:<20} not: {}", codecs[i], trial.refusal);
  }
  return text;
}

std::string_view kind_of(bool lossless) {
  return lossless ? "without loss" : "with the errors above";
}

// JSON.

/// Of text that is printable() or becomes so.
std::string quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : printable(std::string(text))) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + '"';
}

std::string number_or_null(double number, bool there = true) {
  return there && std::isfinite(number) ? fmt::format("{}", number) : "null";
}

std::string json_of(const AdvisedCalls& calls, const std::vector<std::string>& codecs,
                    const CallSites& sites) {
  std::string json = fmt::format(
      "{{\"site\": {}, \"type\": {}, \"bytes\": {}, \"ranks\": {}, \"calls\": {}, "
      "\"seconds\": {}, \"samples\": {}, \"native_seconds\": {}, \"trials\": [",
      quoted(sites.text(calls.site)), quoted(name_of(calls.type)), calls.bytes(), calls.ranks,
      calls.calls, calls.seconds, calls.samples, calls.native_seconds);
  for (std::size_t i = 0; i < calls.trials.size(); ++i) {
    const AdviceTrial& trial = calls.trials[i];
    const bool made = trial.refusal.empty();
    json += fmt::format("{}\n   {{\"codec\": {}, \"seconds\": {}, \"error\": {}, \"refusal\": {}}}",
                        i == 0 ? "" : ",", quoted(codecs[i]), number_or_null(trial.seconds, made),
                        number_or_null(trial.error, made), made ? "null" : quoted(trial.refusal));
  }
  return json + "]}";
}

std::string json_of(const std::optional<AdvisedRule>& rule) {
  if (!rule) return "null";
  return fmt::format("{{\"rule\": {}, \"saved_seconds\": {}}}", quoted(rule->text()),
                     rule->saved_seconds);
}

}  // namespace

double AdvisedCalls::gain(std::size_t codec) const {
  const AdviceTrial& trial = trials[codec];
  return trial.refusal.empty() && trial.seconds > 0 ? native_seconds / trial.seconds : 0;
}

std::string AdvisedRule::text() const {
  return fmt::format("codec={} bytes={}:{}", codec, least_bytes, most_bytes + 1);
}

double AdviceFindings::seconds() const {
  double sum = 0;
  for (const AdvisedCalls& each : calls) sum += each.seconds;
  return sum;
}

std::uint64_t AdviceFindings::count() const {
  std::uint64_t sum = 0;
  for (const AdvisedCalls& each : calls) sum += each.calls;
  return sum;
}

/// Of all calls that were tried with so many bytes or more: what slower ones lose is taken off.
/// None is saved where the codec cannot make some.
double AdviceFindings::saved_by(std::size_t codec, std::size_t least_bytes) const {
  double saved = 0;
  for (const AdvisedCalls& each : calls) {
    if (each.samples == 0 || each.bytes() < least_bytes) continue;
    const double times = each.gain(codec);
    if (times == 0) return 0;
    saved += each.seconds * (1 - 1 / times);
  }
  return saved;
}

std::optional<AdvisedRule> AdviceFindings::rule(bool lossless) const {
  AdvisedRule best{.codec = {}, .least_bytes = 0, .most_bytes = 0, .saved_seconds = 0};
  for (const AdvisedCalls& each : calls) {
    if (each.samples == 0 || each.bytes() <= short_vector) continue;
    best.most_bytes = std::max(best.most_bytes, each.bytes());
    for (std::size_t i = 0; i < codecs.size(); ++i) {
      const double saved = lossless && !is_lossless(codecs[i]) ? 0 : saved_by(i, each.bytes());
      if (saved <= best.saved_seconds) continue;
      best.saved_seconds = saved;
      best.codec = codecs[i];
      best.least_bytes = each.bytes();
    }
  }
  if (best.saved_seconds < (1 - 1 / worth_while) * seconds() || best.saved_seconds == 0)
    return std::nullopt;
  return best;
}

std::string AdviceFindings::text() const {
  const CallSites sites;
  std::string text = fmt::format(
      "advice: {} of MPI_Allreduce on real numbers took {:.3g} s of {:.3g} s ({:.0f}%) of rank 0",
      counted(count(), "call"), seconds(), run_seconds, 100 * seconds() / run_seconds);
  constexpr std::size_t most_lines = 20;
  for (std::size_t i = 0; i < std::min(calls.size(), most_lines); ++i)
    text += text_of(calls[i], codecs, sites);
  if (calls.size() > most_lines)
    text += fmt::format("\n  and {} kinds more that took less time", calls.size() - most_lines);
  if (std::ranges::all_of(calls, [](const auto& each) { return each.samples == 0; }))
    return text + "\nnothing was tried: no communicator had three calls of one length";
  for (const bool lossless : {true, false}) {
    const auto found = rule(lossless);
    text += found ? fmt::format("\n{}: {:.3g} s less with the rule\n    {}", kind_of(lossless),
                                found->saved_seconds, found->text())
                  : fmt::format("\n{}: no codec saves a twentieth of that time", kind_of(lossless));
  }
  return text;
}

std::string AdviceFindings::json() const {
  const CallSites sites;
  std::string json = fmt::format(
      "{{\"schema\": \"cohom-advice/1\", \"version\": {},\n \"run_seconds\": {}, \"calls\": {}, "
      "\"seconds\": {},\n \"sites\": [",
      quoted(COHOM_VERSION_STRING), run_seconds, count(), seconds());
  for (std::size_t i = 0; i < calls.size(); ++i)
    json += (i == 0 ? "\n  " : ",\n  ") + json_of(calls[i], codecs, sites);
  return json + fmt::format("],\n \"rules\": {{\"lossless\": {}, \"lossy\": {}}}}}\n",
                            json_of(rule(true)), json_of(rule(false)));
}

std::string AdviceFindings::rules() const {
  std::string lines = fmt::format(
      "# cohom-advise: {} of MPI_Allreduce on real numbers took {:.3g} s of {:.3g} s of rank 0\n",
      counted(count(), "call"), seconds(), run_seconds);
  for (const bool lossless : {true, false}) {
    const auto found = rule(lossless);
    const std::string_view kind = lossless ? "without loss" : "with loss, as advised";
    lines += found ? fmt::format("# {}: {:.3g} s less\n{}{}\n", kind, found->saved_seconds,
                                 lossless ? "" : "# ", found->text())
                   : fmt::format("# {}: no codec saves a twentieth of that time\n", kind);
  }
  return lines;
}

}  // namespace cohom::mpi
