#pragma once
// The command line of cohom-scale.

#include "command_line.hpp"
#include "scale/network_shape.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cohom::bench {

inline constexpr int most_ranks = 65536;

enum class ScaleMode : std::uint8_t { schedule, executor };

struct ScaleOptions {
  ScaleMode mode = ScaleMode::schedule;
  std::vector<const NetworkShape*> networks = {};
  std::vector<int> ranks = {};
  std::vector<std::size_t> sizes = {};  ///< bytes of the vector, of f32
  std::vector<std::string> codecs = {"thc"};
  std::vector<std::string> algorithms = {};
  std::size_t segment = 0;       ///< elements; 0: the library's choice
  std::size_t outliers = 0;      ///< elements of rank 0 that are infinite, in the executor
  std::string codec_times = {};  ///< a file or "default"; empty: the network alone
  std::uint64_t max_messages = 20'000'000;
  std::string json_path = {};
  std::string trace_folder = {};  ///< empty: no traces
  std::string command = {};       ///< the command line, for the report
};

/// @throws UsageError naming the flag, what was given and what would be right
std::variant<ScaleOptions, Information> parse_scale_options(int argc, const char* const* argv);

/// A comma list of numbers of ranks and of ranges a:b, which stand for a, 2a, 4a, ... up to b.
/// @throws UsageError
std::vector<int> parse_ranks(std::string_view text);

}  // namespace cohom::bench
