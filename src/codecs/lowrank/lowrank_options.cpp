#include "codecs/lowrank/lowrank_options.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cohom {
namespace {

constexpr std::size_t least_columns = 16, most_columns = 65536;

constexpr ParameterInfo parameters[] = {
    {"rank", "4", "a whole number from 1 to 32",
     "columns of the two factors: the more, the closer, and the more bytes"},
    {"columns", "auto", "auto or a power of two from 16 to 65536",
     "elements of a row of the matrix: of a weight matrix, the length of its rows; auto: the power "
     "of two below the root of the vector's elements"},
    {"error_feedback", "off", "on or off",
     "add what earlier calls left out to this call's vector, and start from their columns (needs "
     "state)"},
};

}  // namespace

std::span<const ParameterInfo> lowrank_parameters() { return parameters; }

LowrankOptions parse_lowrank_options(const Parameters& given) {
  const ParameterReader reader("lowrank", parameters, given);
  LowrankOptions options;
  options.rank = reader.integer("rank", 1, LowrankOptions::most_rank);
  if (reader.given("columns")) {
    options.columns = reader.integer("columns", least_columns, most_columns);
    if (!std::has_single_bit(options.columns)) reader.reject("columns");
  }
  options.error_feedback = reader.on("error_feedback");
  return options;
}

LowrankShape::LowrankShape(const LowrankOptions& options, std::size_t elements)
    : columns(options.columns) {
  if (columns == 0) {
    const auto root = static_cast<std::size_t>(std::sqrt(static_cast<double>(elements)));
    columns = elements == 0 ? 256 : std::bit_floor(std::clamp(root, least_columns, most_columns));
  }
  if (elements == 0) {
    rank = std::min(options.rank, columns);
    return;
  }
  // Neither rows nor directions that the vector has not.
  columns = std::min(columns, std::max(least_columns, std::bit_ceil(elements)));
  rank = std::min({options.rank, columns, rows(elements)});
}

}  // namespace cohom
