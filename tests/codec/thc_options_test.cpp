// thc's parameters: defaults, what they come to, and every way to get them wrong.

#include "codecs/thc/thc_options.hpp"

#include "codecs/common/lane_layout.hpp"
#include "codecs/thc/thc.hpp"
#include "codecs/thc/thc_table.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cohom {
namespace {

using kernels::Dither;

TEST(ThcOptions, Defaults) {
  const ThcOptions options = parse_thc_options({}, 4);
  EXPECT_TRUE(options.table);
  EXPECT_EQ(options.bits, 4u);
  EXPECT_EQ(options.intervals, 30u);
  EXPECT_EQ(options.lane, 8u);
  EXPECT_EQ(options.tail, 1.0 / 32);
  EXPECT_FALSE(options.global_scale);
  EXPECT_EQ(options.rotation, 256u);
  EXPECT_EQ(options.dither, Dither::correlated);
  EXPECT_FALSE(options.error_feedback);
  EXPECT_EQ(options.seed, 0u);
  EXPECT_EQ(parse_thc_options({{"error_feedback", "on"}}, 4).dither, Dither::nearest);
  EXPECT_EQ(parse_thc_options({{"error_feedback", "on"}, {"dither", "independent"}}, 4).dither,
            Dither::independent);
}

TEST(ThcOptions, TheDefaultOfEveryParameterMayBeGiven) {
  Parameters parameters;
  for (const ParameterInfo& parameter : thc_parameters())
    parameters.emplace(parameter.name, parameter.default_value);
  const ThcOptions options = parse_thc_options(parameters, 4);
  EXPECT_EQ(options.intervals, 30u);
  EXPECT_EQ(options.tail, 1.0 / 32);
}

TEST(ThcOptions, GranularityFollowsTheBits) {
  const std::uint32_t expected[] = {1, 6, 14, 30, 62, 126, 254, 510};
  for (unsigned bits = 1; bits <= 8; ++bits)
    EXPECT_EQ(parse_thc_options({{"bits", std::to_string(bits)}}, 1).intervals, expected[bits - 1]);
}

TEST(ThcOptions, SumLaneHoldsTheSum) {
  EXPECT_EQ(parse_thc_options({}, 8).lane, 8u);     // 240
  EXPECT_EQ(parse_thc_options({}, 9).lane, 12u);    // 270
  EXPECT_EQ(parse_thc_options({}, 136).lane, 12u);  // 4080
  EXPECT_EQ(parse_thc_options({}, 137).lane, 16u);
  EXPECT_EQ(parse_thc_options({}, 2185).lane, 21u);  // 65550
  EXPECT_EQ(parse_thc_options({}, 100000).lane, 32u);
  EXPECT_EQ(parse_thc_options({{"lane", "9"}}, 9).lane, 9u);
  EXPECT_EQ(parse_thc_options({{"bits", "1"}, {"lane", "4"}}, 15).lane, 4u);
}

TEST(ThcOptions, FullLevelsFillTheLane) {
  const auto intervals = [](const char* lane, std::uint32_t ranks) {
    return parse_thc_options({{"levels", "full"}, {"lane", lane}}, ranks).intervals;
  };
  EXPECT_EQ(intervals("auto", 8), 31u);
  EXPECT_EQ(intervals("8", 255), 1u);
  EXPECT_EQ(intervals("16", 1), 65535u);
  EXPECT_EQ(intervals("32", 2), 65535u);
  EXPECT_EQ(intervals("4", 5), 3u);
  const auto options = parse_thc_options({{"levels", "full"}}, 8);
  EXPECT_EQ(options.tail, 1.0 / 1024);
  EXPECT_EQ(parse_thc_options({{"levels", "full"}, {"tail", "1/16"}}, 8).tail, 0.0625);
}

TEST(ThcOptions, FormatFollows) {
  const auto table = make_thc_format(parse_thc_options({}, 4), 1, 4);
  EXPECT_EQ(table.narrow_width, 4u);
  EXPECT_EQ(table.wide_width, 8u);
  EXPECT_EQ(table.levels.size(), 16u);
  EXPECT_EQ(table.cells.size(), 31u);
  EXPECT_EQ(table.dither_offsets, (std::vector<std::uint8_t>{64, 192}));
  EXPECT_NEAR(table.encode_scale * table.decode_scale, 128, 1e-12);
  EXPECT_NEAR(table.decode_scale, 2.1538746940614555 / 30, 1e-14);

  const auto full = make_thc_format(parse_thc_options({{"levels", "full"}}, 8), 1, 8);
  EXPECT_FALSE(full.table);
  EXPECT_EQ(full.narrow_width, 5u);
  EXPECT_TRUE(full.levels.empty());
}

TEST(ThcOptions, TailIsAFractionOrADecimal) {
  EXPECT_EQ(parse_thc_options({{"tail", "1/64"}}, 1).tail, 0.015625);
  EXPECT_EQ(parse_thc_options({{"tail", "0.25"}}, 1).tail, 0.25);
  EXPECT_EQ(parse_thc_options({{"tail", "1e-3"}}, 1).tail, 1e-3);
}

TEST(ThcOptions, BitsFollowFromNmse) {
  const auto with = [](const char* nmse, std::uint32_t ranks) {
    return parse_thc_options({{"nmse", nmse}}, ranks);
  };
  unsigned before = 9;
  for (const char* nmse : {"1e-3", "3e-3", "1e-2", "3e-2", "1e-1", "3e-1", "5e-1"}) {
    const ThcOptions options = with(nmse, 4);
    EXPECT_LE(options.bits, before) << nmse;
    before = options.bits;
    EXPECT_TRUE(options.table);
    EXPECT_EQ(options.intervals, options.bits == 1 ? 1 : 2 * ((1u << options.bits) - 1)) << nmse;
    EXPECT_GE((std::uint64_t{1} << options.lane) - 1, 4u * options.intervals) << nmse;
  }
  // One rank: the variance of rounding to 15 equal intervals, and of the tail.
  EXPECT_EQ(with("0.021", 1).bits, 4u);
  EXPECT_EQ(with("0.012", 1).bits, 5u);
  EXPECT_LT(with("0.012", 1).tail, with("0.1", 1).tail) << "finer levels clamp less";
}

/// What an error says can be had, can be.
TEST(ThcOptions, TheLeastNmseIsNamed) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 8u, 1000u})
    for (const char* dither : {"correlated", "independent", "nearest"}) {
      std::string least;
      try {
        parse_thc_options({{"nmse", "1e-12"}, {"dither", dither}}, ranks);
        ADD_FAILURE() << "accepted";
      } catch (const Error& error) {
        const std::string text = error.what(), before = "bits keep ";
        const std::size_t begin = text.find(before) + before.size();
        least = text.substr(begin, text.find(';') - begin);
      }
      EXPECT_EQ(parse_thc_options({{"nmse", least}, {"dither", dither}}, ranks).bits, 8u) << least;
      const std::string below = std::to_string(0.8 * std::stod(least));
      EXPECT_THROW(parse_thc_options({{"nmse", below}, {"dither", dither}}, ranks), Error) << below;
    }
}

struct Wrong {
  Parameters parameters;
  std::uint32_t ranks;
  std::vector<std::string> message;  ///< parts that what() must have
};

TEST(ThcOptions, ErrorsNameWhatIsWrongAndWhatIsRight) {
  const Wrong cases[] = {
      {{{"bit", "4"}}, 1, {"thc", "'bit'", "bit=4", "did you mean bits;"}},
      {{{"granularty", "4"}}, 1, {"did you mean granularity;"}},
      {{{"xyzzy", "1"}}, 1, {"'xyzzy'", "its parameters are bits, granularity, nmse, tail"}},
      {{{"bits", "0"}}, 1, {"bits=0", "from 1 to 8"}},
      {{{"bits", "9"}}, 1, {"bits=9", "from 1 to 8"}},
      {{{"bits", "four"}}, 1, {"bits=four", "whole number"}},
      {{{"bits", "4.0"}}, 1, {"bits=4.0"}},
      {{{"bits", "-4"}}, 1, {"bits=-4"}},
      {{{"bits", ""}}, 1, {"bits="}},
      {{{"granularity", "14"}}, 1, {"granularity=14", "2^bits - 1"}},
      {{{"granularity", "4096"}}, 1, {"granularity=4096", "4095"}},
      {{{"tail", "0"}}, 1, {"tail=0", "0.000001 to 0.5"}},
      {{{"tail", "0.6"}}, 1, {"tail=0.6"}},
      {{{"tail", "1/0"}}, 1, {"tail=1/0"}},
      {{{"tail", "nan"}}, 1, {"tail=nan"}},
      {{{"tail", "1/32x"}}, 1, {"tail=1/32x"}},
      {{{"levels", "ful"}}, 1, {"levels=ful", "table or full", "did you mean full"}},
      {{{"lane", "11"}}, 1, {"lane=11", "8 9 10 12 16"}},
      {{{"lane", "64"}}, 1, {"lane=64"}},
      {{{"lane", "8"}}, 9, {"lane=8", "9 ranks * granularity 30 = 270", "needs lane=9"}},
      {{}, 200000000, {"granularity", "does not fit a lane of 32 bits"}},
      {{{"lane", "32"}}, 200000000, {"granularity", "does not fit a lane of 32 bits"}},
      {{{"levels", "full"}, {"lane", "8"}}, 256, {"lane=8", "256 ranks need lane=9"}},
      {{{"levels", "full"}, {"bits", "4"}}, 1, {"bits=4", "levels=full"}},
      {{{"levels", "full"}, {"granularity", "30"}}, 1, {"granularity=30", "levels=full"}},
      {{{"scale", "vector"}}, 1, {"scale=vector", "block or global"}},
      {{{"rotation", "100"}}, 1, {"rotation=100", "power of two from 16 to 65536"}},
      {{{"rotation", "8"}}, 1, {"rotation=8"}},
      {{{"rotation", "131072"}}, 1, {"rotation=131072"}},
      {{{"dither", "corelated"}}, 1, {"dither=corelated", "did you mean correlated"}},
      {{{"error_feedback", "yes"}}, 1, {"error_feedback=yes", "on or off"}},
      {{{"error_feedback", "on"}, {"bits", "1"}}, 4, {"error_feedback=on", "grow without bound"}},
      {{{"error_feedback", "on"}, {"bits", "2"}, {"tail", "0.000001"}}, 4, {"error_feedback=on"}},
      {{{"error_feedback", "on"}, {"levels", "full"}, {"lane", "3"}}, 4, {"error_feedback=on"}},
      {{{"nmse", "1"}}, 1, {"nmse=1", "a number from 1e-12 to 0.5"}},
      {{{"nmse", "1e-6"}}, 4, {"nmse=1e-6", "on 4 ranks 8 bits keep ", "take packed"}},
      {{{"nmse", "0.1"}, {"bits", "4"}}, 4, {"bits=4", "follows from nmse"}},
      {{{"nmse", "0.1"}, {"granularity", "30"}}, 4, {"granularity=30", "follows from nmse"}},
      {{{"nmse", "0.1"}, {"tail", "1/32"}}, 4, {"tail=1/32", "follows from nmse"}},
      {{{"nmse", "0.1"}, {"lane", "8"}}, 4, {"lane=8", "follows from nmse"}},
      {{{"nmse", "0.1"}, {"levels", "full"}}, 4, {"levels=full", "leave one of them out"}},
      {{{"nmse", "0.1"}, {"scale", "global"}}, 4, {"scale=global", "take block"}},
      {{{"nmse", "0.1"}, {"error_feedback", "on"}}, 4, {"error_feedback=on", "take bits="}},
      {{{"nmse", "0.1"}}, 200000000, {"granularity", "does not fit a lane of 32 bits"}},
      {{{"seed", "-1"}}, 1, {"seed=-1", "below 2^64"}},
      {{{"seed", "18446744073709551616"}}, 1, {"seed=18446744073709551616"}},
  };
  for (const Wrong& wrong : cases) {
    try {
      parse_thc_options(wrong.parameters, wrong.ranks);
      ADD_FAILURE() << "accepted: " << wrong.message[0];
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      for (const std::string& part : wrong.message)
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << "'" << part << "' is not in: " << error.what();
    }
  }
}

TEST(ThcOptions, CodecReportsItsShape) {
  const kernels::KernelTable& kernels = kernels::kernel_table();
  const auto thc = make_thc({.ranks = 4, .kernels = kernels, .parameters = {{"rotation", "64"}}});
  EXPECT_EQ(thc->block(), 64u);
  EXPECT_EQ(thc->payload_round(), 1u);
  const auto traits = [&](std::size_t round) { return thc->rounds()[round]->traits(); };
  ASSERT_EQ(thc->rounds().size(), 3u);
  EXPECT_EQ(traits(0).scope, RoundScope::piece);
  EXPECT_TRUE(traits(1).narrow());
  EXPECT_EQ(traits(2).scope, RoundScope::fallback);
  EXPECT_EQ(traits(2).algorithm, RoundAlgorithm::by_size);
  EXPECT_EQ(thc->rounds()[0]->capacity(4, 64 * 5), 3u);
  EXPECT_EQ(thc->payload().capacity(alone, 64 * 5 + 1), 5u * 4 + 1);
  EXPECT_EQ(thc->payload().capacity(4, 64 * 5 + 1), 5u * 8 + 2);
  EXPECT_EQ(thc->rounds()[2]->capacity(alone, 3), 2u);
  EXPECT_EQ(thc->rounds()[2]->capacity(4, 3), 3u * 12);
  EXPECT_EQ(thc->rounds()[2]->finished_capacity(4, 3), 2u);

  const auto global = make_thc({.kernels = kernels, .parameters = {{"scale", "global"}}});
  EXPECT_EQ(global->rounds()[0]->traits().scope, RoundScope::vector);
  EXPECT_EQ(global->rounds()[0]->capacity(1, 100000), 1u);
  const auto full = make_thc({.kernels = kernels, .parameters = {{"levels", "full"}}});
  EXPECT_FALSE(full->payload().traits().narrow());  // 8 bits up as down: nothing to promote
}

}  // namespace
}  // namespace cohom
