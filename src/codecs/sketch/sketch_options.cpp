#include "codecs/sketch/sketch_options.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

namespace cohom {
namespace {

constexpr std::string_view cell_names[] = {"i64", "f32", "f64"};

constexpr ParameterInfo own_parameters[] = {
    {"cells", "auto", "i64, f32 or f64",
     "i64: exact sums in fixed point (default); f32, f64: floating-point sums in cells of the "
     "elements' arithmetic (f64 for f64 elements, where it is the default)"},
    {"gamma", "auto", "a number from 0.5 to 16",
     "cells for each element of the union (default 1.3); below 1.23 few peel, and the rest is "
     "sent once more"},
    {"size", "auto", "a number from 1/1000 to 4",
     "cells for each element of the vector, whatever the union: index and sketch travel together"},
    {"seed", "0", "a whole number below 2^64", "seeds the hashes; equal on all ranks"},
};

SketchCellKind read_cells(const ParameterReader& reader, ElementType type) {
  const bool wide = type == ElementType::f64;
  if (!reader.given("cells")) return wide ? SketchCellKind::f64 : SketchCellKind::integers;
  const auto cells = static_cast<SketchCellKind>(reader.choice("cells", cell_names));
  if (wide && cells != SketchCellKind::f64)
    reader.reject("cells", "f64 elements need cells=f64: i64 and f32 lose bits of theirs");
  if (!wide && cells == SketchCellKind::f64)
    reader.reject("cells", "it is for f64 elements; take i64 or f32");
  return cells;
}

}  // namespace

std::span<const ParameterInfo> sketch_parameters() {
  static const std::vector<ParameterInfo> all = [] {
    std::vector<ParameterInfo> parameters(std::begin(own_parameters), std::end(own_parameters));
    for (const ParameterInfo& parameter : index_parameters()) parameters.push_back(parameter);
    std::ranges::sort(parameters, {}, &ParameterInfo::name);
    return parameters;
  }();
  return all;
}

SketchOptions parse_sketch_options(const Parameters& given, ElementType type) {
  const ParameterReader reader("sketch", sketch_parameters(), given);
  SketchOptions options{
      .index = read_index_options(reader),
      .cells = read_cells(reader, type),
      .seed = reader.integer("seed", 0, std::numeric_limits<std::uint64_t>::max())};
  if (reader.given("gamma")) options.gamma = reader.fraction("gamma", 0.5, 16);
  if (reader.given("size")) options.size = reader.fraction("size", 0.001, 4);
  if (reader.given("gamma") && options.size != 0)
    reader.reject("gamma", "the sketch has its length from size already");
  return options;
}

bool sketch_has_integers(const Parameters& parameters, ElementType type) {
  return parse_sketch_options(parameters, type).cells == SketchCellKind::integers;
}

}  // namespace cohom
