// Hashing: every instruction set and device gives the bits of the scalar reference, a filter holds what was put in,
// and not much else.

#include "kernels/cpu/scalar_hashing.hpp"
#include "kernels/kernel_table.hpp"
#include "tested_tables.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using kernels::BloomShape;
using kernels::HashingKernels;
using kernels::SketchPlace;
using kernels::SketchShape;
using Words = std::vector<std::uint64_t>;

class Hashing : public testing::TestWithParam<TestedTable> {
 protected:
  const HashingKernels& kernels_ = GetParam().table->hashing;
  HashingKernels reference_ = kernels::scalar_hashing();
};

TEST_P(Hashing, PlacesAreTheReferences) {
  std::vector<std::uint32_t> names;
  for (std::uint32_t i = 0; i < 100; ++i) names.push_back(i * i * 37);
  for (const SketchShape shape :
       {SketchShape{.row = 1, .key = 5}, SketchShape{.row = 3277, .key = 6},
        SketchShape{.row = (1u << 21) / 3, .key = ~std::uint64_t{0}}})
    for (const std::size_t items : {0, 1, 3, 7, 8, 9, 16, 33, 100})
      for (const std::uint32_t* named : {static_cast<const std::uint32_t*>(nullptr),
                                         static_cast<const std::uint32_t*>(names.data())}) {
        std::vector<SketchPlace> places(items + 1, SketchPlace({.row = 9, .key = 9}, 9));
        auto expected = places;
        kernels_.places(shape, named, items, places.data());
        reference_.places(shape, named, items, expected.data());
        ASSERT_EQ(std::memcmp(places.data(), expected.data(), 8 * places.size()), 0) << items;
        for (std::size_t i = 0; i < items; ++i)
          for (std::uint32_t r = 0; r < 3; ++r) {
            ASSERT_GE(places[i].cell(r), r * shape.row);
            ASSERT_LT(places[i].cell(r), (r + 1) * shape.row);
          }
      }
}

TEST_P(Hashing, SinglesAreTheReferences) {
  std::vector<std::uint32_t> links;
  for (std::uint32_t i = 0; i < 500; ++i) links.push_back(i % 7 % 3 << 16 | i * 131 % 65536);
  for (const std::size_t count : {0, 1, 3, 4, 15, 16, 17, 33, 100, 500}) {
    std::vector<std::uint32_t> numbers(count + 16), expected(count + 16);
    const std::size_t found = kernels_.find_singles(links.data(), count, numbers.data());
    ASSERT_EQ(found, reference_.find_singles(links.data(), count, expected.data())) << count;
    for (std::size_t i = 0; i < found; ++i) {
      ASSERT_EQ(numbers[i], expected[i]) << count;
      ASSERT_EQ(links[numbers[i]] >> 16, 1u);
    }
  }
}

TEST_P(Hashing, FiltersAreTheReferences) {
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
TEST_P(Hashing, FalsePositivesAreAsManyAsWanted) {
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

INSTANTIATE_TEST_SUITE_P(Tables, Hashing, testing::ValuesIn(tested_tables()), table_name);

}  // namespace
}  // namespace cohom::test
