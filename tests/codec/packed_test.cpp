// packed: sums are exact integers whatever their order, nothing overflows, and parameters are
// checked.

#include "packed_vectors.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

/// predict=delta changes the words, never the sum.
TEST(PackedDifferences, GiveTheSameSum) {
  const Vectors vectors = vectors_of(Shape::lognormal_scales, 5, 10007);
  CodecHarness plain = harness_of(5, {{"abs_error", "0.001"}});
  CodecHarness differences = harness_of(5, {{"abs_error", "0.001"}, {"predict", "delta"}});
  EXPECT_EQ(differences.allreduce(vectors), plain.allreduce(vectors));
}

TEST(PackedDifferences, PayOnSmoothFields) {
  constexpr std::size_t count = 1 << 16;
  Vectors vectors(2, std::vector<double>(count));
  for (std::size_t i = 0; i < count; ++i) {
    vectors[0][i] = std::sin(1e-3 * double(i));
    vectors[1][i] = std::cos(7e-4 * double(i));
  }
  CodecHarness plain = harness_of(2, {{"abs_error", "1e-4"}});
  CodecHarness differences = harness_of(2, {{"abs_error", "1e-4"}, {"predict", "delta"}});
  plain.allreduce(vectors);
  differences.allreduce(vectors);
  EXPECT_LT(mean_of(bits_of_ranks(differences, 2, count)),
            0.5 * mean_of(bits_of_ranks(plain, 2, count)));
}

/// Differences are twice as large as values, and their sums must fit too.
TEST(PackedDifferences, OfTheLargestIntegers) {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    const double step = 2e-3 / ranks * (1 - 0x1p-20);
    const double largest = (0x1p29 / std::bit_ceil(unsigned(ranks)) - 2) * step;
    Vectors vectors(std::size_t(ranks), std::vector<double>(3000));
    for (auto& vector : vectors)
      for (std::size_t i = 0; i < vector.size(); ++i)
        vector[i] = i % 2 == 0 ? (i < 1024 ? 1 : 0.5) * largest : (i < 1024 ? -1 : -0.49) * largest;
    CodecHarness harness =
        harness_of(ranks, {{"abs_error", "1e-3"}, {"predict", "delta"}}, ElementType::f64);
    const auto sum = harness.allreduce(vectors);
    for (std::size_t i = 0; i < sum.size(); ++i)
      ASSERT_NEAR(sum[i], ranks * vectors[0][i], 1.01e-3) << ranks << " ranks, element " << i;
  }
}

TEST(PackedShift, RoundsTheSumToNearestEven) {
  const Vectors vectors = vectors_of(Shape::normal, 4, 5000);
  CodecHarness exact = harness_of(4, {{"down_shift", "0"}, {"bits", "9"}});
  // The same step: 0.15 of the budget goes to the agreement of such short vectors.
  CodecHarness rounded = harness_of(4, {{"down_shift", "2"}, {"bits", "7.8235294"}});
  const auto sums = exact.allreduce(vectors);
  const auto shifted = rounded.allreduce(vectors);
  double step = std::numeric_limits<double>::infinity();
  for (double sum : sums)
    if (sum != 0) step = std::min(step, std::abs(sum));  // some sum is one step
  for (std::size_t i = 0; i < sums.size(); ++i)
    ASSERT_NEAR(shifted[i], 4 * step * std::nearbyint(std::round(sums[i] / step) / 4), step * 1e-3)
        << i;
}

TEST(PackedOverflow, NeverHappens) {
  constexpr double huge = 1e30, tiny = 1e-30;
  for (const Parameters& parameters :
       {Parameters{}, Parameters{{"bits", "2"}}, Parameters{{"bits", "16"}},
        Parameters{{"abs_error", "1e-30"}}, Parameters{{"rel_error", "0.5"}}})
    for (int ranks : {1, 2, 17}) {
      Vectors vectors(std::size_t(ranks), std::vector<double>(3000));
      for (auto& vector : vectors)
        for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = i % 97 == 0 ? huge : tiny;
      CodecHarness harness = harness_of(ranks, parameters);
      const auto sum = harness.allreduce(vectors);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        const double exact = ranks * vectors[0][i];
        ASSERT_NEAR(sum[i], exact, i % 97 == 0 ? 0.6 * exact : huge) << ranks << " element " << i;
      }
    }
}

TEST(PackedOptions, ErrorsNameWhatIsWrong) {
  struct Wrong {
    Parameters parameters;
    std::string words;
  };
  const Wrong cases[] = {
      {{{"bits", "1"}}, "packed: bits=1 is not allowed; allowed: a number from 2 to 16"},
      {{{"bits", "17"}}, "bits=17"},
      {{{"bit", "5"}}, "did you mean bits"},
      {{{"abs_error", "0"}}, "abs_error=0"},
      {{{"abs_error", "-1"}}, "abs_error=-1"},
      {{{"rel_error", "2"}}, "rel_error=2"},
      {{{"abs_error", "0.1"}, {"bits", "5"}}, "bits=5"},
      {{{"abs_error", "0.1"}, {"rel_error", "0.1"}}, "leave it out"},
      {{{"predict", "delta"}}, "differences need abs_error or rel_error"},
      {{{"abs_error", "0.1"}, {"dither", "correlated"}}, "an error bound needs nearest"},
      {{{"abs_error", "0.1"}, {"down_shift", "1"}}, "needs the exact sum"},
      {{{"abs_error", "0.1"}, {"error_feedback", "on"}}, "nothing to feed back"},
      {{{"nmse", "1e-13"}}, "nmse=1e-13 is not allowed; allowed: a number from 1e-12 to 0.5"},
      {{{"nmse", "0.1"}, {"bits", "5"}}, "bits=5 cannot be: nmse sets the step; leave it out"},
      {{{"nmse", "0.1"}, {"rel_error", "0.1"}}, "leave it out"},
      {{{"nmse", "0.1"}, {"dither", "nearest"}}, "take correlated or independent"},
      {{{"nmse", "0.1"}, {"error_feedback", "on"}}, "take bits="},
      {{{"nmse", "0.1"}, {"predict", "delta"}}, "differences need abs_error or rel_error"},
      {{{"bits", "3.9"}, {"error_feedback", "on"}, {"dither", "independent"}}, "take nearest"},
      {{{"down_shift", "9"}}, "down_shift=9"},
      {{{"budget", "min"}}, "mean or max"},
  };
  for (const Wrong& wrong : cases) {
    try {
      harness_of(3, wrong.parameters);
      ADD_FAILURE() << "accepted: " << wrong.words;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(wrong.words), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace cohom::test
