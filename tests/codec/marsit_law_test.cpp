// The law of marsit's result: the sign of one rank, chosen uniformly, whatever the number of ranks.
// The paper's operator, which a ring or a tree applies hop by hop, is the oracle.

#include "codecs/marsit/marsit.hpp"

#include "codec_harness.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/table/kernel_table.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::size_t elements = 60000;
constexpr int tested[] = {2, 3, 5, 7, 8, 13};

/// On so many ranks, the first ones, an element is positive: an operator that favours some ranks
/// shows. Elements that share a permutation are 16 apart and differ.
std::size_t positives(std::size_t element, int ranks) {
  return element / 16 % (std::size_t(ranks) + 1);
}

bool positive(std::size_t element, int rank, int ranks) {
  return std::size_t(rank) < positives(element, ranks);
}

/// Pluses among the elements that have so many positive ranks, and how many elements there are.
struct Frequencies {
  explicit Frequencies(int ranks) : plus(std::size_t(ranks) + 1), all(plus.size()) {}
  void add(std::size_t element, bool is_plus) {
    const std::size_t share = positives(element, int(plus.size()) - 1);
    plus[share] += is_plus;
    ++all[share];
  }
  std::vector<double> plus, all;
};

/// Within four standard deviations of the share of positive ranks, to the power of `draws`.
void expect_law(const Frequencies& found, const char* what, int draws = 1) {
  const double n = double(found.plus.size() - 1);
  for (std::size_t k = 0; k < found.plus.size(); ++k) {
    const double p = std::pow(double(k) / n, draws);
    EXPECT_NEAR(found.plus[k] / found.all[k], p, 4 * std::sqrt(p * (1 - p) / found.all[k]))
        << what << ", " << n << " ranks, " << k << " positive";
  }
}

/// The paper's operator: `a` stands for `first` ranks, `b` for `second`; where they differ a coin
/// decides by how many ranks each stands for.
bool hop(bool a, int first, bool b, int second, std::mt19937_64& engine) {
  const double plus = double(b ? second : first) / (first + second);
  const bool coin = std::bernoulli_distribution(plus)(engine);
  return (a && b) || ((a != b) && coin);
}

bool by_ring(std::size_t element, int ranks, std::mt19937_64& engine) {
  bool result = positive(element, 0, ranks);
  for (int rank = 1; rank < ranks; ++rank)
    result = hop(result, rank, positive(element, rank, ranks), 1, engine);
  return result;
}

/// Groups of any sizes: ranks first ... first + count - 1, cut at `cut(count)`.
template <class Cut>
bool by_groups(std::size_t element, int ranks, int first, int count, Cut cut,
               std::mt19937_64& engine) {
  if (count == 1) return positive(element, first, ranks);
  const int left = cut(count);
  const bool a = by_groups(element, ranks, first, left, cut, engine);
  const bool b = by_groups(element, ranks, first + left, count - left, cut, engine);
  return hop(a, left, b, count - left, engine);
}

/// Where the codec's result is plus.
std::vector<bool> pluses(int ranks, Form form, std::uint64_t step, const std::string& seed = "0") {
  CodecHarness harness({.make = make_marsit,
                        .ranks = ranks,
                        .parameters = {{"scale", "1"}, {"period", "none"}, {"seed", seed}},
                        .mean = true,
                        .form = form,
                        .segment = 4096});
  std::vector<std::vector<double>> inputs(static_cast<std::size_t>(ranks),
                                          std::vector<double>(elements));
  for (int rank = 0; rank < ranks; ++rank)
    for (std::size_t e = 0; e < elements; ++e)
      inputs[std::size_t(rank)][e] = positive(e, rank, ranks) ? 1 : -1;
  std::vector<bool> found;
  for (const double value : harness.allreduce(inputs, step)) found.push_back(value > 0);
  return found;
}

class MarsitLaw : public testing::TestWithParam<int> {};

TEST_P(MarsitLaw, OfTheCodec) {
  const int ranks = GetParam();
  for (const Form form : {Form::narrow, Form::wide}) {
    const auto result = pluses(ranks, form, 3);
    Frequencies found(ranks);
    for (std::size_t e = 0; e < elements; ++e) found.add(e, result[e]);
    expect_law(found, form == Form::narrow ? "narrow" : "wide");
  }
}

/// Two steps, or two seeds, agree on plus as often as independent draws do; the same ones always.
TEST_P(MarsitLaw, OfTheCodecIsDrawnAnewForEveryStepAndSeed) {
  const int ranks = GetParam();
  const auto first = pluses(ranks, Form::wide, 3);
  EXPECT_EQ(first, pluses(ranks, Form::narrow, 3));
  for (const auto& other : {pluses(ranks, Form::wide, 4), pluses(ranks, Form::wide, 3, "1")}) {
    Frequencies both(ranks);
    for (std::size_t e = 0; e < elements; ++e) both.add(e, first[e] && other[e]);
    expect_law(both, "plus in two draws", 2);
  }
}

TEST_P(MarsitLaw, OfThePapersOperator) {
  const int ranks = GetParam();
  std::mt19937_64 engine(std::uint64_t(ranks) + 5);
  Frequencies ring(ranks), tree(ranks), mixed(ranks);
  for (std::size_t e = 0; e < elements; ++e) {
    ring.add(e, by_ring(e, ranks, engine));
    tree.add(e, by_groups(
                    e, ranks, 0, ranks, [](int count) { return count / 2; }, engine));
    mixed.add(e, by_groups(
                     e, ranks, 0, ranks, [](int count) { return (count + 2) / 3; }, engine));
  }
  expect_law(ring, "ring");
  expect_law(tree, "tree");
  expect_law(mixed, "mixed groups");
}

INSTANTIATE_TEST_SUITE_P(Ranks, MarsitLaw, testing::ValuesIn(tested),
                         [](const auto& test) { return std::to_string(test.param); });

/// Which bits a rank owns: with all signs plus, what is kept.
std::vector<std::uint64_t> mask_of(std::uint32_t rank, std::uint32_t ranks, std::uint64_t key) {
  const auto format = kernels::make_sample_format(rank, ranks);
  std::vector<std::uint64_t> bits(64 * 16, ~std::uint64_t{0});
  kernels::kernel_table().sample.keep_own(format, key, {ElementType::f32, 0, 64 * 1024},
                                          bits.data());
  return bits;
}

/// In every group of n bits each rank has one: together they have all.
TEST(Choice, CoversEveryBitOnceAndEveryGroupEqually) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 5u, 7u, 8u, 13u, 16u, 17u, 100u}) {
    std::vector<std::uint64_t> all(64 * 16);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const auto mask = mask_of(rank, ranks, 77);
      for (std::size_t i = 0; i < mask.size(); ++i) {
        EXPECT_EQ(all[i] & mask[i], 0u) << ranks << " ranks, word " << i;
        all[i] |= mask[i];
      }
      for (std::size_t block = 0; block < 64; ++block)
        for (std::size_t group = 0; group < 1024 / ranks; ++group) {
          int owned = 0;
          for (std::size_t i = group * ranks; i < (group + 1) * ranks; ++i)
            owned += int(mask[16 * block + i / 64] >> (i % 64) & 1);
          ASSERT_EQ(owned, 1) << ranks << " ranks, rank " << rank << ", group " << group;
        }
    }
    for (const std::uint64_t word : all) EXPECT_EQ(word, ~std::uint64_t{0});
  }
}

/// At every place of a group each rank is chosen equally often.
TEST(Choice, FavoursNoPlace) {
  for (const std::uint32_t ranks : {2u, 3u, 5u, 7u, 8u, 13u, 17u})
    for (const std::uint32_t rank : {0u, ranks - 1}) {
      const auto mask = mask_of(rank, ranks, 78);
      std::vector<double> chosen(ranks);
      const std::size_t groups = 1024 / ranks;
      for (std::size_t block = 0; block < 64; ++block)
        for (std::size_t i = 0; i < groups * ranks; ++i)
          chosen[i % ranks] += double(mask[16 * block + i / 64] >> (i % 64) & 1);
      const double p = 1.0 / ranks, all = 64.0 * double(groups);
      for (const double count : chosen)
        EXPECT_NEAR(count / all, p, 4 * std::sqrt(p * (1 - p) / all)) << rank << " of " << ranks;
    }
}

/// The masks of two steps, or two seeds, have a bit in common as often as chance has it.
TEST(Choice, OfDifferentStepsIsIndependent) {
  using kernels::body::key;
  using kernels::body::Stream;
  for (const std::uint32_t ranks : {2u, 3u, 8u, 13u}) {
    const auto mask = [&](std::uint64_t seed, std::uint64_t step) {
      return mask_of(0, ranks, key(seed, step, Stream::choice, 0));
    };
    const auto first = mask(1, 5);
    EXPECT_EQ(first, mask(1, 5));
    for (const auto& other : {mask(1, 6), mask(2, 5)}) {
      double both = 0, own = 0;
      for (std::size_t i = 0; i < first.size(); ++i) {
        both += std::popcount(first[i] & other[i]);
        own += std::popcount(first[i]);
      }
      const double p = 1.0 / ranks;
      EXPECT_NEAR(both / own, p, 4 * std::sqrt(p * (1 - p) / own)) << ranks << " ranks";
    }
  }
}

}  // namespace
}  // namespace cohom::test
