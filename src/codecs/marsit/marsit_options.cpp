#include "codecs/marsit/marsit_options.hpp"

namespace cohom {
namespace {

constexpr ParameterInfo parameters[] = {
    {"scale", "l1", "l1 or a number from 1e-30 to 1e30",
     "what a sign of the mean stands for: the mean magnitude of the vector on all ranks, or the "
     "number"},
    {"compensation", "off", "on or off",
     "add what the last result lacked of this rank's vector (needs state)"},
    {"period", "10", "none or a whole number from 1 to 1000000000",
     "every so many calls are full-precision sums, and what was left over starts at zero again"},
    {"seed", "0", "a whole number below 2^64", "seeds the choice of ranks; equal on all ranks"},
};

}  // namespace

std::span<const ParameterInfo> marsit_parameters() { return parameters; }

MarsitOptions parse_marsit_options(const Parameters& given) {
  const ParameterReader reader("marsit", parameters, given);
  MarsitOptions options;
  options.scale = {.kind = SignScaleKind::vector, .of_input = true};
  if (!reader.is("scale", "l1")) {
    options.scale.kind = SignScaleKind::number;
    options.scale.number = reader.fraction("scale", 1e-30, 1e30);
  }
  options.compensation = reader.on("compensation");
  options.period = reader.is("period", "none") ? 0 : reader.integer("period", 1, 1000000000);
  options.seed = reader.integer("seed", 0, ~std::uint64_t{0});
  return options;
}

}  // namespace cohom
