#include "predict/prediction.hpp"

#include "plan/spec.hpp"
#include "scale/call_model.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace cohom::bench {
namespace {

/// More messages, of all ranks together, take minutes to simulate.
constexpr std::uint64_t most_messages = 20'000'000;

CodecTimes slower(CodecTimes times, double factor) {
  for (Nanoseconds* const time :
       {&times.agree, &times.encode, &times.add_narrow, &times.add_wide, &times.decode})
    *time *= factor;
  return times;
}

class Predictor {
 public:
  explicit Predictor(const PredictionQuestion& question)
      : question_(question), network_(question.network) {
    network_.overhead *= question.ranks_a_thread;
    floats_ = slower(question.codecs.at(0).times.value(), question.ranks_a_thread);
  }

  [[nodiscard]] std::vector<PredictedRow> run() const {
    std::vector<PredictedRow> rows;
    const MeasuredTimes times({{"raw", floats_}});
    const NativeCall native = best_native(network_, shape("raw", "auto", times));
    rows.push_back({.algorithm = native.algorithm, .time = native.call.time});
    for (std::size_t i = 1; i < question_.codecs.size(); ++i)
      for (PredictedRow& row : rows_of(question_.codecs[i])) rows.push_back(std::move(row));
    return rows;
  }

 private:
  [[nodiscard]] CallShape shape(const std::string& codec, std::string_view algorithm,
                                const MeasuredTimes& times) const {
    return {.codec = codec,
            .algorithm = std::string(algorithm),
            .elements = question_.bytes / sizeof(float),
            .ranks = question_.ranks,
            .times = &times};
  }

  [[nodiscard]] std::vector<PredictedRow> rows_of(const MeteredCodec& metered) const {
    const std::string& codec = metered.spec;
    if (!metered.times) return {{.codec = codec, .algorithm = "-", .why_not = metered.why_not}};
    const MeasuredTimes times(
        {{"raw", floats_},
         {parse_spec(codec).name, slower(*metered.times, question_.ranks_a_thread)}});
    const Selection chosen = select(network_, shape(codec, "auto", times));
    std::vector<PredictedRow> rows;
    if (chosen.bypass) {  // the vector goes raw
      rows.push_back(simulate(shape(codec, "auto", times)));
      rows.back().chosen = true;
      rows.back().algorithm += " as raw";
    }
    for (const AlgorithmRow& algorithm : algorithm_table()) {
      if (algorithm.needs_aggregator) continue;
      rows.push_back(simulate(shape(codec, algorithm.name, times)));
      rows.back().chosen = !chosen.bypass && chosen.algorithm == &algorithm;
    }
    std::ranges::stable_sort(rows, {}, [](const PredictedRow& row) {
      return row.time.value_or(std::numeric_limits<Nanoseconds>::max());
    });
    return rows;
  }

  [[nodiscard]] PredictedRow simulate(const CallShape& shape) const {
    const CallModel model = model_call(network_, shape);
    PredictedRow row{.codec = shape.codec, .algorithm = model.algorithm};
    if (messages_of(model, shape.ranks) > most_messages)
      row.why_not = "too many messages to simulate";
    else
      row.time = run_schedules(network_, shape.ranks, model.parts).time;
    return row;
  }

  const PredictionQuestion& question_;
  NetworkShape network_;
  CodecTimes floats_;  ///< of raw vectors
};

std::string time_text(Nanoseconds time) {
  return time < 1e6 ? fmt::format("{:.1f} us", time / 1e3) : fmt::format("{:.2f} ms", time / 1e6);
}

}  // namespace

std::vector<PredictedRow> predict(const PredictionQuestion& question) {
  return Predictor(question).run();
}

std::string table_of(const std::vector<PredictedRow>& rows) {
  std::string text = fmt::format("{:<24} {:<28} {:>12} {:>14}\n", "codec", "algorithm", "predicted",
                                 "times native");
  const Nanoseconds native = rows.front().time.value_or(0);
  for (const PredictedRow& row : rows) {
    const std::string algorithm = row.algorithm + (row.chosen ? " (auto)" : "");
    text += fmt::format("{:<24} {:<28} ", row.codec.empty() ? "native" : row.codec, algorithm);
    text += row.time ? fmt::format("{:>12} {:>14.2f}\n", time_text(*row.time), native / *row.time)
                     : row.why_not + "\n";
  }
  return text;
}

}  // namespace cohom::bench
