#pragma once
// What the command line of `cohom-info --predict` says.

#include "scale/network_shape.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::bench {

struct PredictOptions {
  std::size_t bytes = 0;  ///< of the vector of f32
  int ranks = 0;          ///< 0: those of the job
  std::vector<std::string> codecs = {"raw", "thc", "packed", "signcount"};
  const NetworkShape* network = nullptr;  ///< null: that of the job
};

/// BYTES or BYTES,RANKS. `network`: a name, or empty.
/// @throws UsageError
PredictOptions parse_predict(std::string_view text, const std::string& network);

}  // namespace cohom::bench
