#include "codecs/raw/raw.hpp"

#include "codec_harness.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cohom::test {
namespace {

/// Left to right, one rounding an addition, then one of the division.
std::vector<double> expected_sums(ElementType type, std::span<const std::vector<double>> inputs,
                                  double divisor) {
  const auto rounded = [&](const std::vector<double>& values) {
    return to_values(type, to_bytes(type, values));
  };
  auto sums = inputs[0];
  for (std::size_t r = 1; r < inputs.size(); ++r) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += inputs[r][i];
    sums = rounded(sums);
  }
  for (double& sum : sums) sum /= divisor;
  return rounded(sums);
}

TEST(Raw, IsTheIeeeSumInRankOrder) {
  for (ElementType type : all_element_types)
    for (bool mean : {false, true})
      for (int ranks : {1, 2, 5})
        for (std::size_t count : {1, 3, 255, 256, 257, 2001}) {
          std::vector<std::vector<double>> inputs;
          for (int rank = 0; rank < ranks; ++rank)
            inputs.push_back(
                to_values(type, to_bytes(type, normal_values(count, std::uint64_t(rank)))));
          CodecHarness harness(
              {.make = make_raw, .ranks = ranks, .type = type, .mean = mean, .in_place = true});
          EXPECT_EQ(harness.allreduce(inputs), expected_sums(type, inputs, mean ? ranks : 1))
              << name_of(type) << ' ' << ranks << ' ' << count;
        }
}

TEST(Raw, WordsAreTheElementsAndZeros) {
  std::vector<std::vector<double>> inputs(1, {1, 2, 3});
  CodecHarness harness({.make = make_raw, .type = ElementType::f32});
  harness.allreduce(inputs);
  EXPECT_EQ(harness.contribution(0, 0),
            (std::vector<std::uint64_t>{0x400000003f800000u, 0x0000000040400000u}));
}

TEST(Raw, NansBecomeTheCanonicalOne) {
  std::vector<std::vector<double>> inputs(2, {-std::numeric_limits<double>::quiet_NaN(), 1});
  for (ElementType type : all_element_types) {
    CodecHarness harness({.make = make_raw, .ranks = 2, .type = type, .mean = true});
    std::vector<Bytes> bytes(2, to_bytes(type, inputs[0]));
    const std::vector<double> nan{std::numeric_limits<double>::quiet_NaN(), 1};
    EXPECT_EQ(harness.allreduce(bytes), to_bytes(type, nan));
  }
}

TEST(Raw, SaysWhenWordsAreElements) {
  const kernels::KernelTable& kernels = kernels::kernel_table();
  const auto sum = make_raw({.ranks = 4, .kernels = kernels});
  const auto mean = make_raw({.ranks = 4, .divisor = 4, .kernels = kernels});
  EXPECT_EQ(sum->payload().traits().identity, Identity::encoding_and_decoding);
  EXPECT_EQ(mean->payload().traits().identity, Identity::encoding);
  EXPECT_EQ(sum->payload().traits().merge, (Merge{MergeKind::add_float, ElementType::f32}));
  EXPECT_EQ(sum->state_bytes(100), 0u);
}

TEST(Raw, TakesNoParameters) {
  const kernels::KernelTable& kernels = kernels::kernel_table();
  try {
    make_raw({.kernels = kernels, .parameters = {{"bits", "4"}}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_STREQ(error.what(), "raw has no parameter 'bits' (given: bits=4); it takes none");
  }
}

}  // namespace
}  // namespace cohom::test
