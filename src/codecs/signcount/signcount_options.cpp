#include "codecs/signcount/signcount_options.hpp"

#include <string_view>

namespace cohom {
namespace {

constexpr std::string_view vote_names[] = {"count", "majority"};

constexpr ParameterInfo parameters[] = {
    {"scale", "l1", "l1, global or a number from 1e-30 to 1e30",
     "what a sign stands for: the mean magnitude of its block of 1024 on all ranks, that of the "
     "vector, or the number"},
    {"vote", "count", "count or majority",
     "count: the result is scale * (pluses - minuses); majority: one bit comes back, scale * ranks "
     "with the sign of most ranks"},
    {"error_feedback", "off", "on or off",
     "add what the last call's sign lost to this call's vector (needs state)"},
};

}  // namespace

std::span<const ParameterInfo> signcount_parameters() { return parameters; }

SigncountOptions parse_signcount_options(const Parameters& given) {
  const ParameterReader reader("signcount", parameters, given);
  SigncountOptions options;
  if (reader.is("scale", "global"))
    options.scale.kind = SignScaleKind::vector;
  else if (!reader.is("scale", "l1"))
    options.scale = {.kind = SignScaleKind::number,
                     .number = reader.fraction("scale", 1e-30, 1e30)};
  options.majority = reader.choice("vote", vote_names) == 1;
  options.error_feedback = reader.on("error_feedback");
  return options;
}

}  // namespace cohom
