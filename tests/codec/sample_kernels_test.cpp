// The sampling kernels of every instruction set and device have the bits of the scalar reference.

#include "codecs/common/lane_layout.hpp"
#include "kernels/table/kernel_table.hpp"
#include "tested_tables.hpp"

#include <gtest/gtest.h>

#include <cstdint>
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
  for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 7u, 8u, 9u, 15u, 16u, 17u, 40u}) {
    std::vector<kernels::SampleFormat> formats;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      formats.push_back(kernels::make_sample_format(rank, ranks));
    for (const std::size_t count : {1, 16, 17, 33, 64, 65, 500, 1023, 1024, 1025, 1040, 7000})
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

}  // namespace
}  // namespace cohom::test
