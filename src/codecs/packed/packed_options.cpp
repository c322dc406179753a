#include "codecs/packed/packed_options.hpp"

#include "codecs/common/dither.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <tuple>

namespace cohom {
namespace {

using kernels::Dither;

constexpr std::string_view budget_names[] = {"mean", "max"};
constexpr std::string_view predict_names[] = {"none", "delta"};

constexpr ParameterInfo parameters[] = {
    {"bits", "5", "a number from 2 to 16",
     "budget, headers included; the step is found to meet it"},
    {"budget", "mean", "mean or max",
     "mean: of contributions and uncorrelated sums; max: holds for every rank's contribution"},
    {"abs_error", "auto", "a number from 1e-300 to 1e300",
     "instead of bits: bound of the error of every element of the sum"},
    {"rel_error", "auto", "a number from 1e-300 to 1",
     "the same, as a fraction of the largest magnitude on any rank"},
    {"predict", "none", "none or delta",
     "delta: differences of neighbours travel, for smooth fields; needs abs_error or rel_error"},
    {"down_shift", "auto", "a whole number from 0 to 8",
     "bits that the owner rounds off a sum; default 0 below 8 ranks, 1 below 32, 2 below 128, ..."},
    {"dither", "auto", "correlated, independent or nearest",
     "how values are rounded; default correlated, or nearest with error_feedback=on or a bound"},
    {"error_feedback", "off", "on or off",
     "add what the last call's rounding lost to this call's vector (needs state)"},
    {"seed", "0", "a whole number below 2^64", "seeds the dither; equal on all ranks"},
};

/// What dithered rounding loses is fed back, and with fewer bits grows from call to call.
constexpr double min_dithered_feedback = 4;

void read_target(const ParameterReader& reader, const Parameters& given, PackedOptions& options) {
  options.bits = reader.fraction("bits", 2, 16);
  if (reader.choice("budget", budget_names) == 1) options.target = PackedTarget::max_bits;
  for (const auto& [name, target, most] :
       {std::tuple{"abs_error", PackedTarget::absolute_error, 1e300},
        std::tuple{"rel_error", PackedTarget::relative_error, 1.0}}) {
    if (!reader.given(name)) continue;
    for (std::string_view other : {"bits", "budget", "abs_error", "rel_error"})
      if (other != name && given.contains(other))
        reader.reject(other, std::string(name) + " sets the step; leave it out");
    options.target = target;
    options.error = reader.fraction(name, 1e-300, most);
  }
}

/// An exact bound leaves no choice in rounding.
void read_rounding(const ParameterReader& reader, std::uint32_t ranks, PackedOptions& options) {
  options.error_feedback = reader.on("error_feedback");
  if (options.bounded() && options.error_feedback)
    reader.reject("error_feedback", "an error bound leaves nothing to feed back; take bits=");
  options.dither = read_dither(reader, options.error_feedback || options.bounded());
  if (options.bounded() && options.dither != Dither::nearest)
    reader.reject("dither", "an error bound needs nearest");
  if (options.error_feedback && options.dither != Dither::nearest &&
      options.bits < min_dithered_feedback)
    reader.reject("dither",
                  "with error_feedback=on below bits=4 it loses more than there is, and what is "
                  "fed back grows from call to call; take nearest, or more bits");
  options.down_shift = options.bounded()
                           ? 0
                           : static_cast<unsigned>(std::max<int>(std::bit_width(ranks), 2)) / 2 - 1;
  if (reader.given("down_shift"))
    options.down_shift = static_cast<unsigned>(reader.integer("down_shift", 0, 8));
  if (options.bounded() && options.down_shift != 0)
    reader.reject("down_shift", "an error bound needs the exact sum");
}

}  // namespace

std::span<const ParameterInfo> packed_parameters() { return parameters; }

bool packed_bounds_errors(const Parameters& given) {
  return given.contains("abs_error") || given.contains("rel_error");
}

PackedOptions parse_packed_options(const Parameters& given, std::uint32_t ranks) {
  const ParameterReader reader("packed", parameters, given);
  PackedOptions options;
  read_target(reader, given, options);
  options.differences = reader.choice("predict", predict_names) == 1;
  if (options.differences && !options.bounded())
    reader.reject("predict", "differences need abs_error or rel_error");
  read_rounding(reader, ranks, options);
  options.seed = reader.integer("seed", 0, ~std::uint64_t{0});
  return options;
}

}  // namespace cohom
