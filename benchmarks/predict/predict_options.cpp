#include "predict/predict_options.hpp"

#include "bench_options.hpp"
#include "scale/scale_options.hpp"

#include <fmt/format.h>

namespace cohom::bench {
namespace {

std::string names_of_networks() {
  std::string names;
  for (const NetworkShape& shape : network_table())
    names += (names.empty() ? "" : ", ") + std::string(shape.name);
  return names;
}

}  // namespace

PredictOptions parse_predict(std::string_view text, const std::string& network) {
  PredictOptions options;
  const std::size_t comma = text.find(',');
  try {
    options.bytes = parse_size(text.substr(0, comma));
    if (options.bytes == 0 || options.bytes % sizeof(float) != 0)
      throw UsageError("no whole elements");
    if (comma != std::string_view::npos) {
      const std::vector<int> ranks = parse_ranks(text.substr(comma + 1));
      if (ranks.size() != 1) throw UsageError("several numbers");
      options.ranks = ranks.front();
    }
  } catch (const UsageError&) {
    throw UsageError(
        fmt::format("--predict '{}' should be the bytes of a vector of f32, or these and a number "
                    "of ranks from 2 to {}, as in 16M or 16M,64",
                    text, most_ranks));
  }
  if (network.empty()) return options;
  options.network = find_network(network);
  if (options.network == nullptr)
    throw UsageError(
        fmt::format("--network '{}' is unknown; networks: {}", network, names_of_networks()));
  if (options.ranks == 0)
    throw UsageError(
        fmt::format("--network {} needs a number of ranks, as in --predict {},64", network, text));
  return options;
}

}  // namespace cohom::bench
