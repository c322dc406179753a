// Bloom filters: every instruction set and device gives the bits of the scalar reference, a filter
// holds what was put in, and not much else.

#include "kernels/sparse/cpu/bloom_rows.hpp"
#include "kernels/table/kernel_table.hpp"
#include "tested_tables.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom::test {
namespace {

using kernels::BloomKernels;
using kernels::BloomShape;
using Words = std::vector<std::uint64_t>;

class Bloom : public testing::TestWithParam<TestedTable> {
 protected:
  const BloomKernels& kernels_ = GetParam().table->bloom;
  BloomKernels reference_ = kernels::scalar_bloom();
};

TEST_P(Bloom, FiltersAreTheReferences) {
  for (const std::size_t count : {1, 63, 64, 256, 1000, 5000})
    for (const std::uint32_t probes : {1u, 3u, 10u, 20u}) {
      const BloomShape shape{.bits = std::uint32_t((count / 10 * probes * 3 / 2 / 64 + 1) * 64),
                             .probes = probes,
                             .key = count};
      Words own((count + 63) / 64), filter(shape.bits / 64), expected_filter(shape.bits / 64);
      for (std::size_t i = 0; i < count; i += 10) own[i / 64] |= std::uint64_t{1} << i % 64;
      kernels_.insert(shape, 512, own.data(), count, filter.data());
      reference_.insert(shape, 512, own.data(), count, expected_filter.data());
      ASSERT_EQ(filter, expected_filter);
      Words found(own.size() + 1, 77), expected(own.size() + 1, 77);
      kernels_.find(shape, filter.data(), 512, count, found.data());
      reference_.find(shape, filter.data(), 512, count, expected.data());
      ASSERT_EQ(found, expected) << count << " elements, " << probes << " probes";
      for (std::size_t w = 0; w < own.size(); ++w) ASSERT_EQ(own[w] & ~found[w], 0u);
    }
}

/// At 1 / ln 2 bits a probe and value, 2^-probes of the others are taken for values.
TEST_P(Bloom, FalsePositivesAreAsManyAsWanted) {
  constexpr std::size_t count = 1 << 20;
  constexpr std::size_t stride = 128;
  constexpr std::size_t values = count / stride;
  Words own(count / 64), found(count / 64);
  for (std::size_t i = 0; i < count; i += stride) own[i / 64] |= std::uint64_t{1} << i % 64;
  for (const std::uint32_t probes : {1u, 4u, 8u}) {
    const BloomShape shape{.bits = std::uint32_t(values * probes * 1.4427 / 64 + 1) * 64,
                           .probes = probes};
    Words filter(shape.bits / 64);
    kernels_.insert(shape, 0, own.data(), count, filter.data());
    kernels_.find(shape, filter.data(), 0, count, found.data());
    double ghosts = -double(values);
    for (const std::uint64_t word : found) ghosts += std::popcount(word);
    EXPECT_NEAR(ghosts / count / std::ldexp(1.0, -int(probes)), 1, 0.05) << probes;
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Bloom, testing::ValuesIn(tested_tables()), table_name);

}  // namespace
}  // namespace cohom::test
