#include "transport/message_bytes.hpp"

#include "agreement/call_differences.hpp"
#include "base/environment.hpp"
#include "base/text.hpp"

#include <string>
#include <vector>

namespace cohom {

namespace {

constexpr const char* variable = "COHOM_MESSAGE_BYTES";
constexpr std::size_t min_bytes = 64;
constexpr std::size_t max_bytes = std::size_t{1} << 30;

}  // namespace

std::size_t message_bytes_of_environment() {
  const std::string text = option_or_environment({}, variable, {});
  if (text.empty()) return 0;
  const auto bytes = parse_number<std::size_t>(text);
  if (!bytes || *bytes < min_bytes || *bytes > max_bytes || *bytes % 8 != 0)
    throw Error(ErrorKind::invalid_argument,
                std::string(variable) + "=" + text +
                    " is not a size of messages; allowed: multiples of 8 from " +
                    std::to_string(min_bytes) + " to " + std::to_string(max_bytes));
  return *bytes;
}

void expect_same_message_bytes(std::span<const std::uint64_t> by_rank) {
  std::vector<std::string> texts;
  for (const std::uint64_t bytes : by_rank)
    texts.push_back(bytes == 0 ? "not set" : std::to_string(bytes));
  expect_same(variable, texts);
}

}  // namespace cohom
