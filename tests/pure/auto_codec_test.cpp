// codec=auto:nmse=...: the cheapest codec that keeps the error, alike whoever asks.

#include "plan/auto_codec.hpp"
#include "codecs/common/nmse.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace cohom::test {
namespace {

constexpr std::size_t large = 4 << 20;

std::string chosen(std::string_view spec, int ranks, ElementType type = ElementType::f32,
                   std::string_view algorithm = "auto", std::size_t elements = large) {
  return choose_codec(spec,
                      {.algorithm = algorithm, .elements = elements, .type = type, .ranks = ranks})
      .spec;
}

std::string error_of(std::string_view spec, ElementType type = ElementType::f32) {
  try {
    (void)chosen(spec, 4, type);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  ADD_FAILURE() << spec << " is accepted";
  return {};
}

TEST(AutoCodec, LeavesOtherSpecsAlone) {
  for (const char* spec : {"thc", "packed:nmse=1e-3", "raw", "thc:bits=4"}) {
    const ChosenCodec same = choose_codec(spec, {.algorithm = "auto", .ranks = 4});
    EXPECT_EQ(same.spec, spec);
    EXPECT_TRUE(same.reason.empty());
  }
}

TEST(AutoCodec, TakesFewerBytesForMoreError) {
  std::uint64_t before = std::numeric_limits<std::uint64_t>::max();
  for (const char* nmse : {"1e-12", "1e-6", "1e-3", "1e-2", "0.1"}) {
    const std::string spec = std::string("auto:nmse=") + nmse;
    EXPECT_EQ(chosen(spec, 8), std::string("packed:nmse=") + nmse);
    const std::string reason =
        choose_codec(spec, {.algorithm = "auto", .elements = large, .ranks = 8}).reason;
    const std::uint64_t bytes =
        std::stoull(reason);  // "N bytes a call are expected of a rank, ..."
    EXPECT_LT(bytes, before) << reason;
    before = bytes;
  }
}

/// What packed agrees on is longer than such vectors are.
TEST(AutoCodec, LeavesPackedOutForShortVectors) {
  EXPECT_EQ(chosen("auto:nmse=1e-2", 4, ElementType::f32, "direct", 300), "thc:nmse=1e-2");
  EXPECT_EQ(chosen("auto:nmse=1e-6", 4, ElementType::f32, "direct", 300), "raw");
  EXPECT_EQ(chosen("auto:nmse=1e-6", 4, ElementType::f32, "direct", 0), "raw");
}

TEST(AutoCodec, IsRawWhereNothingTravels) { EXPECT_EQ(chosen("auto:nmse=1e-3", 1), "raw"); }

TEST(AutoCodec, TakesRawAndExactWhereTypesAreCoarse) {
  EXPECT_EQ(chosen("auto:nmse=1e-3", 8, ElementType::f16), "packed:nmse=1e-3");
  // One addition of two ranks rounds once.
  EXPECT_EQ(chosen("auto:nmse=1e-7", 2, ElementType::f16), "raw");
  // n - 1 roundings of bf16 are too many, two are not, and then one alone is not.
  EXPECT_EQ(chosen("auto:nmse=2.5e-5", 8, ElementType::bf16), "packed:nmse=2.5e-5");
  EXPECT_EQ(chosen("auto:nmse=6e-6", 8, ElementType::bf16), "exact");
}

TEST(AutoCodec, TakesNoPayloadThatOthersCannotAdd) {
  EXPECT_EQ(chosen("auto:nmse=1e-2", 4, ElementType::f32, "direct"), "packed:nmse=1e-2");
  EXPECT_EQ(chosen("auto:nmse=1e-2", 4, ElementType::f32, "fabric"), "thc:nmse=1e-2");
}

/// All that is asked is what ranks have in common.
TEST(AutoCodec, CountsBytesByTheAlgorithm) {
  const auto reason = [](std::string_view algorithm) {
    return choose_codec("auto:nmse=1e-2", {.algorithm = algorithm, .elements = large, .ranks = 4})
        .reason;
  };
  EXPECT_NE(reason("direct").find("25165824 with raw"), std::string::npos) << reason("direct");
  EXPECT_NE(reason("recursive_doubling").find("33554432 with raw"), std::string::npos)
      << reason("recursive_doubling");
}

TEST(AutoCodec, ErrorsSayWhatToGive) {
  EXPECT_NE(error_of("auto").find("auto:nmse=1e-3"), std::string::npos);
  EXPECT_NE(error_of("auto:bits=4").find("auto has no parameter 'bits'"), std::string::npos);
  EXPECT_NE(error_of("auto:nmse=0.9").find("nmse=0.9 is not allowed"), std::string::npos);
  EXPECT_NE(error_of("auto:nmse=0").find("a number from 1e-12 to 0.5"), std::string::npos);
  const std::string coarse = error_of("auto:nmse=1e-7", ElementType::bf16);
  EXPECT_NE(coarse.find("nmse=1e-7 cannot be: results of bf16 are rounded"), std::string::npos)
      << coarse;
  EXPECT_NE(coarse.find("give 5.1e-6 or more"), std::string::npos) << coarse;
  EXPECT_EQ(chosen("auto:nmse=5.1e-6", 4, ElementType::bf16), "exact");
}

TEST(Nmse, TextsAreNotBelowTheNumber) {
  for (const double nmse : {7.24e-4, 1e-3, 0.5, 9.99e-8, 9.91e-8, 1.0e-12, 0.1})
    for (const double near : {nmse, nmse * (1 + 1e-9), nmse * (1 - 1e-9)}) {
      EXPECT_GE(std::stod(nmse_text(near)), near) << nmse_text(near);
      EXPECT_LE(std::stod(nmse_text(near)), near * 1.11) << nmse_text(near);
    }
}

TEST(Nmse, OfRoundingIsThatOfNumbersWithoutLeadingDigits) {
  // Numbers just above a power of two have the largest relative error.
  EXPECT_NEAR(nmse_of_rounding(ElementType::bf16), 5.09e-6, 0.01e-6);
  EXPECT_NEAR(nmse_of_rounding(ElementType::f16), 7.95e-8, 0.01e-8);
  EXPECT_NEAR(nmse_of_rounding(ElementType::f32), 1.184e-15, 0.001e-15);
}

}  // namespace
}  // namespace cohom::test
