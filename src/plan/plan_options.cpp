#include "plan/plan_options.hpp"

#include "base/environment.hpp"
#include "base/text.hpp"
#include "base/worker_pool.hpp"
#include "plan/route_decisions.hpp"

#include <cohom/error.hpp>

namespace cohom {

namespace {

const std::string& given_or(const std::string& given, const std::string& fallback) {
  return given.empty() ? fallback : given;
}

std::optional<std::size_t> workers_of(const std::string& threads) {
  if (threads == "auto") return std::nullopt;
  const auto number = parse_number<std::size_t>(threads);
  if (number && *number <= WorkerPool::max_workers) return number;
  throw Error(ErrorKind::invalid_argument,
              "threads=" + threads + " is neither auto nor a number from 0 to " +
                  std::to_string(WorkerPool::max_workers) +
                  " (Options::threads, Info key cohom_threads, COHOM_THREADS)");
}

NativeUse native_use_of(const std::string& native) {
  if (native == "never") return NativeUse::never;
  if (native == "auto") return NativeUse::automatic;
  if (native == "always") return NativeUse::always;
  throw Error(ErrorKind::invalid_argument,
              "native=" + native +
                  " is neither auto, never nor always (Options::native, Info key cohom_native, "
                  "COHOM_NATIVE)");
}

}  // namespace

OptionDefaults OptionDefaults::of_environment() {
  const std::string timeout = option_or_environment({}, "COHOM_TIMEOUT", "0");
  return {.codec = option_or_environment({}, "COHOM_CODEC", "thc"),
          .algorithm = option_or_environment({}, "COHOM_ALGORITHM", "auto"),
          .segment = option_or_environment({}, "COHOM_SEGMENT", "0"),
          .aggregator = option_or_environment({}, "COHOM_AGGREGATOR", ""),
          .checksum = option_or_environment({}, "COHOM_CHECKSUM", "off"),
          .timeout = timeout,
          .threads = option_or_environment({}, "COHOM_THREADS", "auto"),
          .progress = option_or_environment({}, "COHOM_PROGRESS", "call"),
          .native = option_or_environment({}, "COHOM_NATIVE", "auto"),
          .decisions = option_or_environment({}, "COHOM_DECISIONS", ""),
          .plan_memory = option_or_environment({}, "COHOM_PLAN_MEMORY", "1G"),
          .timeout_seconds = parse_seconds(timeout)};
}

PlanOptions resolve(const Options& options, const OptionDefaults& defaults) {
  if (options.op != ReduceOp::sum && options.op != ReduceOp::mean)
    throw Error(ErrorKind::invalid_argument, "op " + std::to_string(static_cast<int>(options.op)) +
                                                 " is none of ReduceOp's; give sum or mean");
  PlanOptions resolved{
      .codec = given_or(options.codec, defaults.codec),
      .algorithm = given_or(options.algorithm, defaults.algorithm),
      .op = options.op,
      .segment = options.segment,
      .aggregator = given_or(options.aggregator, defaults.aggregator),
      .transport = options.transport,
  };
  if (resolved.segment == 0) {
    const auto segment = parse_number<std::size_t>(defaults.segment);
    if (!segment)
      throw Error(ErrorKind::invalid_argument, "COHOM_SEGMENT=" + defaults.segment +
                                                   " is not a number of elements (0: the default)");
    resolved.segment = *segment;
  }
  const std::string& checksum = given_or(options.checksum, defaults.checksum);
  resolved.checksum = checksum == "on";
  if (!resolved.checksum && checksum != "off")
    throw Error(ErrorKind::invalid_argument,
                "checksum=" + checksum +
                    " is neither on nor off (Options::checksum, Info key "
                    "cohom_checksum, COHOM_CHECKSUM)");
  const std::string& progress = given_or(options.progress, defaults.progress);
  resolved.own_thread = progress == "thread";
  if (!resolved.own_thread && progress != "call")
    throw Error(ErrorKind::invalid_argument,
                "progress=" + progress +
                    " is neither call nor thread (Options::progress, Info key "
                    "cohom_progress, COHOM_PROGRESS)");
  resolved.native = native_use_of(given_or(options.native, defaults.native));
  resolved.follows_file = !defaults.decisions.empty() && !decisions_to_write(defaults.decisions);
  resolved.threads = workers_of(given_or(options.threads, defaults.threads));
  return resolved;
}

std::size_t plan_memory_of(const OptionDefaults& defaults) {
  const auto bytes = parse_bytes(defaults.plan_memory);
  if (!bytes)
    throw Error(ErrorKind::invalid_argument,
                "COHOM_PLAN_MEMORY=" + defaults.plan_memory + " is no number of bytes like 1G");
  return *bytes;
}

double timeout_of(const Options& options, const OptionDefaults& defaults) {
  if (!are_seconds(options.timeout))
    throw not_seconds("Options::timeout", std::to_string(options.timeout));
  if (options.timeout != 0) return options.timeout;
  if (!defaults.timeout_seconds) throw not_seconds("COHOM_TIMEOUT", defaults.timeout);
  return *defaults.timeout_seconds;
}

}  // namespace cohom
