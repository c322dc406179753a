#pragma once
// CounterCommand: numbers of the network that no rank can see by itself, such as packets dropped.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohom::bench {

/// By name, in the order in which they are printed.
using Counters = std::vector<std::pair<std::string, std::int64_t>>;

/// A shell command that prints a JSON object of whole numbers which only grow.
class CounterCommand {
 public:
  explicit CounterCommand(std::string command) : command_(std::move(command)) {}

  /// Runs the command. @throws std::runtime_error naming it when it fails or prints something else
  [[nodiscard]] Counters read() const;
  /// What was counted since read() gave `before`. @throws std::runtime_error as read() does, and
  /// naming the counters when they are others than before
  [[nodiscard]] Counters since(const Counters& before) const;

  /// What the command's output says. @throws std::runtime_error as read() does
  [[nodiscard]] Counters parse(const std::string& output) const;
  /// @throws std::runtime_error as since() does
  [[nodiscard]] Counters difference(Counters counted, const Counters& before) const;

 private:
  std::string command_;
};

/// The command in the environment variable COHOM_BENCH_COUNTERS; nothing when there is none.
std::optional<CounterCommand> counter_command_of_environment();

}  // namespace cohom::bench
