#include "message_bytes.hpp"

#include "environment.hpp"
#include "text.hpp"

#include <string>

namespace cohom {

namespace {

constexpr const char* variable = "COHOM_MESSAGE_BYTES";
constexpr std::size_t least = 64;
constexpr std::size_t most = std::size_t{1} << 30;

}  // namespace

std::size_t message_bytes_of_environment() {
  const std::string text = option_or_environment({}, variable, {});
  if (text.empty()) return 0;
  const auto bytes = parse_number<std::size_t>(text);
  if (!bytes || *bytes < least || *bytes > most || *bytes % 8 != 0)
    throw Error(ErrorKind::invalid_argument,
                std::string(variable) + "=" + text +
                    " is not a size of messages; allowed: multiples of 8 from " +
                    std::to_string(least) + " to " + std::to_string(most));
  return *bytes;
}

Error message_bytes_differ(std::size_t least_of_ranks, std::size_t most_of_ranks) {
  return Error(ErrorKind::mismatch, std::string(variable) + " differs between ranks: from " +
                                        std::to_string(least_of_ranks) + " to " +
                                        std::to_string(most_of_ranks) + " (0: not set)");
}

}  // namespace cohom
