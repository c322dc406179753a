#include "counter_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace cohom::bench {
namespace {

constexpr const char* variable = "COHOM_BENCH_COUNTERS";
constexpr std::uint64_t max_count = std::numeric_limits<std::int64_t>::max();

std::runtime_error failure(const std::string& command, const std::string& what) {
  return std::runtime_error(fmt::format("{}: \"{}\" {}", variable, command, what));
}

std::string output_of(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw failure(command, "cannot be started");
  std::string output;
  std::array<char, 4096> part{};
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe))
    output.append(part.data(), size);
  if (::pclose(pipe) != 0) throw failure(command, "failed");
  return output;
}

std::vector<std::string> names_of(const Counters& counters) {
  std::vector<std::string> names;
  for (const auto& [name, count] : counters) names.push_back(name);
  return names;
}

}  // namespace

Counters CounterCommand::read() const { return parse(output_of(command_)); }

Counters CounterCommand::parse(const std::string& output) const {
  const auto json = nlohmann::ordered_json::parse(output, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw failure(command_, "should print a JSON object");
  Counters counters;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<std::uint64_t>() > max_count))
      throw failure(command_, "gives no whole number for " + name);
    counters.emplace_back(name, value.get<std::int64_t>());
  }
  return counters;
}

Counters CounterCommand::since(const Counters& before) const { return difference(read(), before); }

Counters CounterCommand::difference(Counters counted, const Counters& before) const {
  if (names_of(counted) != names_of(before))
    throw failure(
        command_,
        fmt::format("should print the same counters each time, not {} and then {}",
                    fmt::join(names_of(before), ", "), fmt::join(names_of(counted), ", ")));
  for (std::size_t i = 0; i < counted.size(); ++i)
    if (__builtin_sub_overflow(counted[i].second, before[i].second, &counted[i].second))
      throw failure(command_, "counts more than 64 bits of " + counted[i].first);
  return counted;
}

std::optional<CounterCommand> counter_command_of_environment() {
  const char* const command = std::getenv(variable);
  if (command == nullptr || *command == '\0') return std::nullopt;
  return CounterCommand(command);
}

}  // namespace cohom::bench
