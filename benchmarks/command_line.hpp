#pragma once
// What the command lines of the benchmarks have in common.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace cohom::bench {

/// A command line that cannot be run.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Text to print instead of running, asked for by --help or --version.
struct Information {
  std::string text;
};

/// Lets `app` read the command line.
/// @throws UsageError
std::optional<Information> parse(CLI::App& app, int argc, const char* const* argv);

/// The items of a comma list.
/// @throws UsageError naming the flag where one is empty, as in "ring,,direct"
std::vector<std::string> split_list(std::string_view flag, std::string_view text);

/// What options of whole numbers accept: CLI11 by itself takes -1 for 2^64 - 1.
CLI::Validator whole_number(std::uint64_t smallest = 0);

/// What options of a file to write accept: the empty text would mean that there is none.
CLI::Validator some_path();

/// What options of a codec accept: the empty text would mean the library's default.
CLI::Validator some_codec();

}  // namespace cohom::bench
