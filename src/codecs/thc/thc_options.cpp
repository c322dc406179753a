#include "codecs/thc/thc_options.hpp"

#include "codecs/common/dither.hpp"
#include "codecs/common/lane_layout.hpp"
#include "codecs/common/nmse.hpp"
#include "codecs/thc/thc_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace cohom {
namespace {

using kernels::Dither;

constexpr std::uint32_t max_granularity = 4095;  // the table is found in O(2^bits granularity^2)
constexpr std::uint32_t max_interval_count = 65535;
constexpr unsigned max_sum_lane = 32;
constexpr unsigned max_bits = 8;
constexpr unsigned default_full_lane = 8;
/// levels=full: fewer equal ones lose more than the table of default size, in a lane as wide.
constexpr std::uint32_t min_default_full_intervals = 30;

constexpr std::string_view levels_names[] = {"table", "full"};
constexpr std::string_view scale_names[] = {"block", "global"};

// The help of a parameter whose default is auto says what that comes to.
constexpr ParameterInfo parameters[] = {
    {"bits", "4", "a whole number from 1 to 8, with levels=table", "bits of a contribution"},
    {"granularity", "auto", "a whole number from 2^bits - 1 to 4095, with levels=table",
     "steps of the grid the table's levels lie on; default 2 (2^bits - 1), or 1 for bits=1"},
    {"nmse", "auto", nmse_range,
     "instead of bits, granularity, tail and lane, which follow from it: squared error of the sum "
     "over the exact sum's square"},
    {"tail", "auto", "a fraction or decimal from 0.000001 to 0.5",
     "fraction of a normal variable that is clamped; default 1/32, or 1/1024 with levels=full"},
    {"levels", "table", "table or full",
     "table: optimal unequal levels; full: as many equal ones as the sum's lane holds"},
    {"lane", "auto",
     "1 2 3 4 5 6 7 8 9 10 12 16 21 or 32, wide enough for ranks * granularity (full: for ranks)",
     "bits of a sum's lane; default the first of 8 12 16 21 32 that fits, or with levels=full 8 up "
     "to 255 ranks, then the first that holds 30 levels a rank"},
    {"scale", "block", "block or global",
     "one scale a block, or one for the vector: then blocks with norms above the average are "
     "clipped unless the rotation spans the vector"},
    {"rotation", "256", "a power of two from 16 to 65536",
     "elements rotated together: the block; below 256 without vector instructions"},
    {"dither", "auto", "correlated, independent or nearest",
     "how values are rounded; default correlated, or nearest with error_feedback=on"},
    {"error_feedback", "off", "on or off",
     "add what the last call's rounding lost to this call's vector (needs state)"},
    {"seed", "0", "a whole number below 2^64", "seeds signs and dither; equal on all ranks"},
};

unsigned default_sum_lane(std::uint64_t largest_sum) {
  for (unsigned width : {8u, 12u, 16u, 21u})
    if (largest_sum <= largest_lane_value(width)) return width;
  return max_sum_lane;
}

/// The lane's width, whatever it then has to hold.
unsigned read_lane(const ParameterReader& reader, unsigned default_width) {
  if (!reader.given("lane")) return default_width;
  const std::uint64_t width = reader.integer("lane", 1, max_sum_lane);
  if (!is_lane_width(width)) reader.reject("lane");
  return static_cast<unsigned>(width);
}

std::uint32_t default_granularity(unsigned bits) { return bits == 1 ? 1 : 2 * ((1u << bits) - 1); }

void read_sum_lane(const ParameterReader& reader, std::uint32_t ranks, ThcOptions& options) {
  const std::uint64_t largest_sum = std::uint64_t{ranks} * options.intervals;
  options.lane = read_lane(reader, default_sum_lane(largest_sum));
  if (largest_sum <= largest_lane_value(options.lane)) return;
  const std::string sum = std::to_string(ranks) + " ranks * granularity " +
                          std::to_string(options.intervals) + " = " + std::to_string(largest_sum);
  const unsigned needed = smallest_lane_width(largest_sum);
  if (!reader.given("lane") || needed > max_sum_lane)
    reader.reject("granularity", sum + " does not fit a lane of 32 bits");
  reader.reject("lane", sum + " needs lane=" + std::to_string(needed));
}

void read_table_form(const ParameterReader& reader, std::uint32_t ranks, ThcOptions& options) {
  options.bits = static_cast<unsigned>(reader.integer("bits", 1, max_bits));
  options.intervals = default_granularity(options.bits);
  if (reader.given("granularity"))
    options.intervals = static_cast<std::uint32_t>(
        reader.integer("granularity", (1u << options.bits) - 1, max_granularity));
  read_sum_lane(reader, ranks, options);
}

void read_full_form(const ParameterReader& reader, const Parameters& given, std::uint32_t ranks,
                    ThcOptions& options) {
  for (std::string_view unused : {"bits", "granularity"})
    if (given.contains(unused))
      reader.reject(unused, "levels=full takes as many levels as the lane holds; leave it out");
  options.table = false;
  options.lane =
      read_lane(reader, ranks <= largest_lane_value(default_full_lane)
                            ? default_full_lane
                            : default_sum_lane(std::uint64_t{ranks} * min_default_full_intervals));
  const std::uint64_t fits = largest_lane_value(options.lane) / ranks;
  if (fits == 0)
    reader.reject("lane", std::to_string(ranks) + " ranks need lane=" +
                              std::to_string(smallest_lane_width(ranks)) + " or more");
  options.intervals = static_cast<std::uint32_t>(std::min<std::uint64_t>(fits, max_interval_count));
}

/// What levels of so many bits lose: a normal variable's rounding, and its clamping.
struct Precision {
  unsigned bits = 0;
  double tail = 0, rounded = 0, clamped = 0;
};

/// Table forms of default granularity, by bits and then by tail.
std::span<const Precision> precisions() {
  static const auto list = [] {
    constexpr int tails = 19;  // 1/2, 1/4, ... down to the least that may be given
    std::vector<Precision> all;
    for (unsigned bits = 1; bits <= max_bits; ++bits)
      for (int k = 1; k <= tails; ++k) {
        const double tail = std::ldexp(1.0, -k), threshold = normal_tail_threshold(tail);
        all.push_back({bits, tail, equal_levels_variance((1u << bits) - 1, threshold),
                       clamped_energy(threshold)});
      }
    return all;
  }();
  return list;
}

/// Where the sum of every block has a quarter of the energy, or more, that it would have if ranks
/// were uncorrelated and all as loud as the loudest (docs/theory.md, "thc").
double expected_nmse(const Precision& precision, Dither dither, std::uint32_t ranks) {
  double share = 1;  // of the variance of independent roundings
  if (dither == Dither::correlated) share = (ranks + 1.0) / (2.0 * ranks);
  if (dither == Dither::nearest) share = 0.5;
  return (ranks == 1 ? 1 : 4) * (share * precision.rounded + precision.clamped);
}

/// The fewest bits that keep the error, with the tail that errs least.
void read_nmse_form(const ParameterReader& reader, const Parameters& given, std::uint32_t ranks,
                    ElementType type, ThcOptions& options) {
  for (std::string_view other : {"bits", "granularity", "tail", "lane"})
    if (given.contains(other)) reader.reject(other, "it follows from nmse; leave one of them out");
  if (!options.table)
    reader.reject("levels", "nmse chooses levels of the table form; leave one of them out");
  if (options.global_scale) reader.reject("scale", "nmse is that of one scale a block; take block");
  if (options.error_feedback)
    reader.reject("error_feedback", "nmse is that of each call by itself; take bits=");
  const double rounding = nmse_of_rounding(type);
  const double nmse = read_nmse(reader, type, ranks) - rounding;
  double least = std::numeric_limits<double>::infinity();
  options.bits = 0;
  for (const Precision& precision : precisions()) {
    if (options.bits != 0 && precision.bits > options.bits) break;
    const double expected = expected_nmse(precision, options.dither, ranks);
    if (expected >= least) continue;
    least = expected;
    if (expected > nmse) continue;
    options.bits = precision.bits;
    options.tail = precision.tail;
  }
  if (options.bits == 0)
    reader.reject("nmse", "on " + std::to_string(ranks) + " ranks " + std::to_string(max_bits) +
                              " bits keep " + nmse_text(least + rounding) +
                              "; give that or more, or take packed");
  options.intervals = default_granularity(options.bits);
  read_sum_lane(reader, ranks, options);
}

std::vector<std::uint16_t> levels_of(const ThcOptions& options) {
  if (options.table)
    return optimal_levels(options.bits, options.intervals, normal_tail_threshold(options.tail));
  std::vector<std::uint16_t> levels(options.intervals + 1);
  std::iota(levels.begin(), levels.end(), std::uint16_t{0});
  return levels;
}

/// What is lost must shrink from call to call.
void expect_contraction(const ParameterReader& reader, const ThcOptions& options) {
  const double loss = rounding_loss(levels_of(options), normal_tail_threshold(options.tail),
                                    options.dither == Dither::nearest);
  if (loss < 1) return;
  reader.reject(
      "error_feedback",
      "with these levels rounding loses " + std::to_string(loss) +
          " of a vector's energy, and what is fed back would grow without bound; take more "
          "bits, a larger tail or dither=nearest");
}

}  // namespace

std::span<const ParameterInfo> thc_parameters() { return parameters; }

ThcOptions parse_thc_options(const Parameters& given, std::uint32_t ranks, ElementType type) {
  const ParameterReader reader("thc", parameters, given);
  ThcOptions options;
  options.table = reader.choice("levels", levels_names) == 0;
  const bool by_error = reader.given("nmse");
  if (!by_error) {
    if (options.table)
      read_table_form(reader, ranks, options);
    else
      read_full_form(reader, given, ranks, options);
  }

  // Equal levels of 8 bits are so fine that clamping 1/32 would be nearly all of their error.
  options.tail = options.table ? 1.0 / 32 : 1.0 / 1024;
  if (reader.given("tail")) options.tail = reader.fraction("tail", 1e-6, 0.5);
  options.global_scale = reader.choice("scale", scale_names) == 1;
  options.rotation = static_cast<std::uint32_t>(reader.integer("rotation", 16, 65536));
  if (!std::has_single_bit(options.rotation)) reader.reject("rotation");
  options.error_feedback = reader.on("error_feedback");
  options.dither = read_dither(reader, options.error_feedback);
  options.seed = reader.integer("seed", 0, ~std::uint64_t{0});
  if (by_error) read_nmse_form(reader, given, ranks, type, options);
  if (options.error_feedback) expect_contraction(reader, options);
  return options;
}

kernels::ThcFormat make_thc_format(const ThcOptions& options, std::uint32_t rank,
                                   std::uint32_t ranks) {
  const double threshold = normal_tail_threshold(options.tail);
  kernels::ThcFormat format;
  format.rotation = options.rotation;
  format.intervals = options.intervals;
  format.table = options.table;
  format.narrow_width = options.table ? options.bits : smallest_lane_width(options.intervals);
  format.wide_width = options.lane;
  format.ranks = ranks;
  if (options.table) {
    format.levels = levels_of(options);
    format.cells = cells_of_levels(format.levels);
  }
  format.encode_scale = 256.0 * options.intervals / (2 * threshold);
  format.decode_scale = threshold / options.intervals;
  format.dither = options.dither;
  if (options.dither == Dither::correlated) format.dither_offsets = correlated_offsets(rank, ranks);
  return format;
}

}  // namespace cohom
