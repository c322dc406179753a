// libFuzzer target: what the command of COHOM_BENCH_COUNTERS prints before and after a row, with a
// zero byte between the two. What is wrong is a std::runtime_error. See scripts/fuzz.

#include "benchmarks/counter_command.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\0');
  const cohom::bench::CounterCommand command("input");
  try {
    const auto before = command.parse(text.substr(0, end));
    const auto after = end == std::string::npos ? before : command.parse(text.substr(end + 1));
    (void)command.difference(after, before);
  } catch (const std::runtime_error&) {
  }
  return 0;
}
