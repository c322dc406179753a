#include "codecs/packed/packed_options.hpp"

#include "codecs/common/dither.hpp"
#include "codecs/common/nmse.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

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
    {"nmse", "auto", nmse_range,
     "instead of bits: squared error of the sum over the exact sum's square; bits follow"},
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

double read_error(const ParameterReader& reader, PackedTarget target, std::uint32_t ranks,
                  ElementType type) {
  switch (target) {
    case PackedTarget::absolute_error: return reader.fraction("abs_error", 1e-300, 1e300);
    case PackedTarget::relative_error: return reader.fraction("rel_error", 1e-300, 1);
    default: return read_nmse(reader, type, ranks);
  }
}

void read_target(const ParameterReader& reader, const Parameters& given, std::uint32_t ranks,
                 ElementType type, PackedOptions& options) {
  options.bits = reader.fraction("bits", 2, 16);
  if (reader.choice("budget", budget_names) == 1) options.target = PackedTarget::max_bits;
  for (const auto& [name, target] : {std::pair{"abs_error", PackedTarget::absolute_error},
                                     std::pair{"rel_error", PackedTarget::relative_error},
                                     std::pair{"nmse", PackedTarget::squared_error}}) {
    if (!reader.given(name)) continue;
    for (std::string_view other : {"bits", "budget", "abs_error", "rel_error", "nmse"})
      if (other != name && given.contains(other))
        reader.reject(other, std::string(name) + " sets the step; leave it out");
    options.target = target;
    options.error = read_error(reader, target, ranks, type);
  }
}

/// An exact bound needs the exact sum.
void read_down_shift(const ParameterReader& reader, std::uint32_t ranks, PackedOptions& options) {
  options.down_shift = options.bounded()
                           ? 0
                           : static_cast<unsigned>(std::max<int>(std::bit_width(ranks), 2)) / 2 - 1;
  if (reader.given("down_shift"))
    options.down_shift = static_cast<unsigned>(reader.integer("down_shift", 0, 8));
  if (options.bounded() && options.down_shift != 0)
    reader.reject("down_shift", "an error bound needs the exact sum");
}

/// An exact bound leaves no choice in rounding.
void read_rounding(const ParameterReader& reader, PackedOptions& options) {
  options.error_feedback = reader.on("error_feedback");
  if (options.bounded() && options.error_feedback)
    reader.reject("error_feedback", "an error bound leaves nothing to feed back; take bits=");
  const bool squared = options.target == PackedTarget::squared_error;
  if (squared && options.error_feedback)
    reader.reject("error_feedback", "nmse is that of each call by itself; take bits=");
  options.dither = read_dither(reader, options.error_feedback || options.bounded());
  if (options.bounded() && options.dither != Dither::nearest)
    reader.reject("dither", "an error bound needs nearest");
  if (squared && options.dither == Dither::nearest)
    reader.reject(
        "dither",
        "with nmse rounding must be unbiased, for else the errors of ranks that are alike "
        "add up; take correlated or independent");
  if (options.error_feedback && options.dither != Dither::nearest &&
      options.bits < min_dithered_feedback)
    reader.reject("dither",
                  "with error_feedback=on below bits=4 it loses more than there is, and what is "
                  "fed back grows from call to call; take nearest, or more bits");
}

}  // namespace

std::span<const ParameterInfo> packed_parameters() { return parameters; }

bool packed_bounds_errors(const Parameters& given) {
  return given.contains("abs_error") || given.contains("rel_error");
}

PackedOptions parse_packed_options(const Parameters& given, std::uint32_t ranks, ElementType type) {
  const ParameterReader reader("packed", parameters, given);
  PackedOptions options;
  read_target(reader, given, ranks, type, options);
  options.differences = reader.choice("predict", predict_names) == 1;
  if (options.differences && !options.bounded())
    reader.reject("predict", "differences need abs_error or rel_error");
  read_rounding(reader, options);
  read_down_shift(reader, ranks, options);
  options.seed = reader.integer("seed", 0, ~std::uint64_t{0});
  return options;
}

}  // namespace cohom
