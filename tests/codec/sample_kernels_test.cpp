// The sampling kernels of every instruction set and device have the bits of the scalar reference.

#include "codecs/common/lane_layout.hpp"
#include "kernels/table/kernel_table.hpp"
#include "tested_tables.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using kernels::SignRun;
using WordVector = std::vector<std::uint64_t>;

/// Signs of `count` elements: random words, and zeros beyond a ragged block's padded end.
WordVector random_signs(std::size_t count, std::uint64_t seed) {
  WordVector signs(words_of_run(count, 1024, 1));
  std::mt19937_64 random(seed);
  for (auto& word : signs) word = random();
  if (const std::size_t ragged = count % 1024; ragged != 0 && ragged <= 32)
    signs.back() &= (std::uint64_t{1} << (ragged <= 16 ? 16 : 32)) - 1;
  return signs;
}

/// What all ranks send and what comes of it: own bits of each, signs kept of each, all placed.
std::vector<WordVector> run_all(const kernels::SampleKernels& sample, const SignRun& run,
                                const std::vector<kernels::SampleFormat>& formats) {
  constexpr std::uint64_t key = 0x123456789abcdef;
  const auto ranks = static_cast<std::uint32_t>(formats.size());
  std::vector<WordVector> all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const WordVector signs = random_signs(run.count, rank + 1);
    all.emplace_back(kernels::sampled_words(run.count, ranks));
    sample.gather_own(formats[rank], key, run, signs.data(), all.back().data());
  }
  std::vector<const std::uint64_t*> contributions;
  for (const auto& own : all) contributions.push_back(own.data());
  WordVector placed(words_of_run(run.count, 1024, 1));
  sample.place(formats.front(), key, run, contributions.data(), placed.data());

  WordVector merged(placed.size());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    WordVector kept = random_signs(run.count, rank + 1);
    sample.keep_own(formats[rank], key, run, kept.data());
    for (std::size_t i = 0; i < kept.size(); ++i) merged[i] |= kept[i];
  }
  EXPECT_EQ(placed, merged) << "the narrow and the wide form differ, " << ranks << " ranks";
  all.push_back(std::move(placed));
  return all;
}

class SampleEquality : public testing::TestWithParam<TestedTable> {};

TEST_P(SampleEquality, MatchesReference) {
  // From 1024 ranks on, some ranks have no position in a block.
  for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 7u, 8u, 9u, 15u, 16u, 17u, 40u, 300u, 1031u}) {
    std::vector<kernels::SampleFormat> formats;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      formats.push_back(kernels::make_sample_format(rank, ranks));
    std::vector<std::size_t> counts = {1, 16, 17, 33, 64, 65, 500, 1023, 1024, 1025, 1040, 7000};
    if (ranks > 40) counts = {17, 1025, 2500};
    for (const std::size_t count : counts)
      for (const std::size_t first : {std::size_t{0}, std::size_t{5} << 30}) {
        const SignRun run{ElementType::f32, first, count};
        const auto expected =
            run_all(kernels::kernel_table(kernels::Isa::scalar).sample, run, formats);
        const auto found = run_all(GetParam().table->sample, run, formats);
        for (std::size_t i = 0; i < expected.size(); ++i)
          ASSERT_EQ(found[i], expected[i])
              << "part " << i << ", " << count << " elements, " << ranks << " ranks";
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, SampleEquality, testing::ValuesIn(tested_tables()), table_name);

/// By their definition: the numbers below `ranks` and prime to it, each with the one of its powers
/// by which it gives 1. Takes O(ranks^2).
void expect_units_by_definition(std::uint32_t ranks) {
  std::vector<std::uint32_t> units, inverses;
  for (std::uint32_t a = 0; a < ranks; ++a) {
    if (std::gcd(a, ranks) != 1) continue;
    std::uint64_t inverse = 1 % ranks;
    while (inverse * a % ranks != 1 % ranks) inverse = inverse * a % ranks;
    units.push_back(a);
    inverses.push_back(static_cast<std::uint32_t>(inverse));
  }
  const kernels::SampleFormat format = kernels::make_sample_format(0, ranks);
  EXPECT_EQ(format.units, units) << ranks;
  EXPECT_EQ(format.inverses, inverses) << ranks;
}

TEST(SampleFormat, UnitsAndInversesAreThoseOfTheDefinition) {
  for (std::uint32_t ranks = 1; ranks <= 70; ++ranks) expect_units_by_definition(ranks);
  for (const std::uint32_t prime : {97u, 251u, 257u, 509u, 1021u, 1031u, 2039u})
    expect_units_by_definition(prime);
}

/// By powers these took tens of seconds.
TEST(SampleFormat, ManyRanksTakeNoTime) {
  const std::clock_t start = std::clock();
  for (const std::uint32_t ranks : {32749u, 32768u, 65521u}) {
    const kernels::SampleFormat format = kernels::make_sample_format(1, ranks);
    ASSERT_EQ(format.units.size(), ranks % 2 == 0 ? ranks / 2 : ranks - 1);
    for (std::size_t i = 0; i < format.units.size(); ++i)
      ASSERT_EQ(std::uint64_t{format.units[i]} * format.inverses[i] % ranks, 1u) << ranks;
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 3) << "of the processor";
}

}  // namespace
}  // namespace cohom::test
