#include "codecs/sketch_options.hpp"

#include <limits>
#include <string_view>

namespace cohom {
namespace {

constexpr std::string_view index_names[] = {"two-level", "flat"};
constexpr std::string_view cell_names[] = {"i64", "f32", "f64"};

constexpr ParameterInfo parameters[] = {
    {"cells", "auto", "i64, f32 or f64",
     "i64: exact sums in fixed point (default); f32, f64: floating-point sums in cells of the "
     "elements' arithmetic (f64 for f64 elements, where it is the default)"},
    {"gamma", "1.3", "a number from 0.5 to 16",
     "cells for each element of the union; what 1.23 and less do not recover is sent once more"},
    {"index", "two-level", "two-level or flat", "as sparse's"},
    {"seed", "0", "a whole number below 2^64", "seeds the hashes; equal on all ranks"},
};

SketchCellKind read_cells(const ParameterReader& reader, ElementType type) {
  const bool wide = type == ElementType::f64;
  if (!reader.given("cells")) return wide ? SketchCellKind::f64 : SketchCellKind::integers;
  const auto cells = static_cast<SketchCellKind>(reader.choice("cells", cell_names));
  if (wide && cells != SketchCellKind::f64)
    reader.reject("cells", "f64 elements need cells=f64: 64 bits of fixed point lose theirs");
  if (!wide && cells == SketchCellKind::f64)
    reader.reject("cells", "it is for f64 elements; take i64 or f32");
  return cells;
}

}  // namespace

std::span<const ParameterInfo> sketch_parameters() { return parameters; }

SketchOptions parse_sketch_options(const Parameters& given, ElementType type) {
  const ParameterReader reader("sketch", parameters, given);
  return {
      .index = reader.choice("index", index_names) == 0 ? IndexForm::two_level : IndexForm::flat,
      .cells = read_cells(reader, type),
      .gamma = reader.fraction("gamma", 0.5, 16),
      .seed = reader.integer("seed", 0, std::numeric_limits<std::uint64_t>::max())};
}

}  // namespace cohom
