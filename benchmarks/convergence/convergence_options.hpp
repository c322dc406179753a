#pragma once
// The command line of cohom-convergence.

#include "command_line.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cohom::bench {

/// What --require asks: a codec's loss at the end is at most `factor` times that of raw.
struct Bound {
  std::string codec;
  double factor = 1;
};

struct ConvergenceOptions {
  std::string problem = "quadratic";
  std::vector<std::string> codecs = {};
  std::vector<Bound> bounds = {};
  std::string algorithm = "direct";
  std::string data = "benchmarks/data/digits_images.u8";
  std::string json_path = {};
  bool heterogeneous = false;
  double rate = 0.01;
  std::uint64_t steps = 2000;
  /// Steps from one loss to the next; no multiple of a period, right after whose call of full
  /// precision all codecs look well.
  std::uint64_t every = 17;
  std::uint64_t seed = 1;
};

/// @throws UsageError naming the flag, what was given and what would be right
std::variant<ConvergenceOptions, Information> parse_convergence_options(int argc,
                                                                        const char* const* argv);

/// "CODEC<=FACTOR", e.g. "signcount:error_feedback=on<=1.3".
/// @throws UsageError
Bound parse_bound(std::string_view text);

}  // namespace cohom::bench
