#include "plan/plan_options.hpp"

#include "base/environment.hpp"
#include "base/seconds.hpp"
#include "base/text.hpp"

#include <cohom/error.hpp>

namespace cohom {

PlanOptions resolve(const Options& options) {
  PlanOptions resolved{
      .codec = option_or_environment(options.codec, "COHOM_CODEC", "thc"),
      .algorithm = option_or_environment(options.algorithm, "COHOM_ALGORITHM", "auto"),
      .op = options.op,
      .segment = options.segment,
      .aggregator = option_or_environment(options.aggregator, "COHOM_AGGREGATOR", ""),
      .transport = options.transport,
  };
  if (resolved.segment == 0) {
    const std::string text = option_or_environment({}, "COHOM_SEGMENT", "0");
    const auto segment = parse_number<std::size_t>(text);
    if (!segment)
      throw Error(ErrorKind::invalid_argument,
                  "COHOM_SEGMENT=" + text + " is not a number of elements (0: the default)");
    resolved.segment = *segment;
  }
  const std::string checksum = option_or_environment(options.checksum, "COHOM_CHECKSUM", "off");
  resolved.checksum = checksum == "on";
  if (!resolved.checksum && checksum != "off")
    throw Error(ErrorKind::invalid_argument,
                "checksum=" + checksum +
                    " is neither on nor off (Options::checksum, Info key "
                    "cohom_checksum, COHOM_CHECKSUM)");
  return resolved;
}

double timeout_of(const Options& options) {
  if (!are_seconds(options.timeout))
    throw not_seconds("Options::timeout", std::to_string(options.timeout));
  if (options.timeout != 0) return options.timeout;
  const std::string text = option_or_environment({}, "COHOM_TIMEOUT", "0");
  const auto seconds = parse_seconds(text);
  if (!seconds) throw not_seconds("COHOM_TIMEOUT", text);
  return *seconds;
}

}  // namespace cohom
