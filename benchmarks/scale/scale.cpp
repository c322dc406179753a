// cohom-scale: how long allreduces take on many ranks, on a simulated network (docs/scale.md).

#include "base/standard_output.hpp"
#include "scale/call_model.hpp"
#include "scale/executor_run.hpp"
#include "scale/scale_options.hpp"
#include "scale/scale_report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

namespace cohom::bench {
namespace {

class Runs {
 public:
  explicit Runs(const ScaleOptions& options) : options_(options), report_(options) {
    if (options.codec_times == "default")
      times_.emplace();
    else if (!options.codec_times.empty())
      times_.emplace(options.codec_times);
  }

  void run_all() {
    for (const NetworkShape* const network : options_.networks)
      for (const std::size_t size : options_.sizes)
        for (const int ranks : options_.ranks)
          for (const std::string& codec : options_.codecs)
            for (const std::string& algorithm : options_.algorithms)
              report_.add(run(*network, {.codec = codec,
                                         .algorithm = algorithm,
                                         .elements = size / sizeof(float),
                                         .ranks = ranks,
                                         .segment = options_.segment,
                                         .outliers = options_.outliers}));
    report_.close();
  }

 private:
  ScaleRow run(const NetworkShape& network, const CallShape& shape) {
    return options_.mode == ScaleMode::executor ? execute(network, shape)
                                                : simulate(network, shape);
  }

  ScaleRow execute(const NetworkShape& network, const CallShape& shape) {
    std::optional<MessageTrace> trace;
    if (!options_.trace_folder.empty()) trace.emplace(shape.ranks);
    const ExecutedCall executed = run_executors(network, shape, trace ? &*trace : nullptr);
    if (!executed.identical())
      throw std::runtime_error(fmt::format("ranks differ in their results: {} by {}, {} ranks",
                                           shape.codec, shape.algorithm, shape.ranks));
    return {.network = &network,
            .shape = shape,
            .algorithm = std::string(select(network, shape).algorithm->name),
            .alone = TimedCall{executed.call, native(network, shape)},
            .hash = executed.hashes.front(),
            .traces = trace ? write(*trace, network, shape) : ""};
  }

  /// @returns the file that lists the traces
  std::string write(const MessageTrace& trace, const NetworkShape& network,
                    const CallShape& shape) const {
    const std::filesystem::path folder =
        std::filesystem::path(options_.trace_folder) /
        fmt::format("{}-{}-{}-{}-{}", network.name, shape.ranks, shape.elements * sizeof(float),
                    shape.codec, shape.algorithm);
    trace.write("--traces", folder);
    return folder / "traces";
  }

  ScaleRow simulate(const NetworkShape& network, CallShape shape) {
    CallModel model = model_call(network, shape);
    ScaleRow row{.network = &network, .shape = shape, .algorithm = model.algorithm};
    if (messages_of(model, shape.ranks) > options_.max_messages) return row;
    row.alone = TimedCall{run_schedules(network, shape.ranks, model.parts), native(network, shape)};
    if (!times_) return row;
    shape.times = &*times_;
    model = model_call(network, shape);
    row.with_codec =
        TimedCall{run_schedules(network, shape.ranks, model.parts), native(network, shape)};
    return row;
  }

  /// One for all rows that are compared with it.
  const NativeCall& native(const NetworkShape& network, const CallShape& shape) {
    const Key key{&network, shape.ranks, shape.elements, shape.times};
    const auto found = natives_.find(key);
    if (found != natives_.end()) return found->second;
    return natives_.emplace(key, best_native(network, shape)).first->second;
  }

  using Key = std::tuple<const NetworkShape*, int, std::size_t, const MeasuredTimes*>;
  const ScaleOptions& options_;
  std::optional<MeasuredTimes> times_;
  std::map<Key, NativeCall> natives_;
  ScaleReport report_;
};

int run_program(int argc, const char* const* argv) {
  const auto parsed = parse_scale_options(argc, argv);
  if (const auto* const information = std::get_if<Information>(&parsed)) {
    fmt::print("{}", information->text);
    flush_standard_output();
    return 0;
  }
  Runs(std::get<ScaleOptions>(parsed)).run_all();
  return 0;
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  try {
    return cohom::bench::run_program(argc, argv);
  } catch (const cohom::bench::UsageError& error) {
    fmt::print(stderr, "cohom-scale: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cohom-scale: {}\n", error.what());
    return 1;
  }
}
