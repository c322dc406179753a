// sparse gives every bit that raw gives by the same algorithm, whatever is zero.

#include "call/communicator_impl.hpp"
#include "loopback_ranks.hpp"
#include "same_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "sparse_vectors.hpp"
#include "thoroughness.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

constexpr const char* sparse_specs[] = {"sparse", "sparse:index=flat", "sparse:index=bloom"};

using Vectors = std::vector<std::vector<double>>;  // by rank

struct Problem {
  std::string name;
  ElementType type;
  Vectors vectors = {};
  std::size_t segment = 1024;
};

Bytes sum_of(Communicator& communicator, const Problem& problem, std::string_view spec,
             std::string_view algorithm, ReduceOp op, bool in_place) {
  const auto& values = problem.vectors[std::size_t(communicator.rank())];
  const Bytes input = to_bytes(problem.type, values);
  Bytes output = in_place ? input : Bytes(input.size(), std::byte{0xa5});
  AllreducePlan plan(communicator, values.size(), problem.type,
                     {.codec = std::string(spec),
                      .algorithm = std::string(algorithm),
                      .op = op,
                      .segment = problem.segment});
  plan.execute(in_place ? output.data() : input.data(), output.data());
  return output;
}

/// By every algorithm, summed or averaged, in place or not: problems and algorithms take turns.
void expect_raws_bits(const std::vector<Problem>& problems) {
  const std::size_t ranks = problems[0].vectors.size();
  on_ranks(int(ranks), [&](int rank, Communicator& communicator) {
    const PairShare share(2);
    for (std::size_t p = 0; p < problems.size(); ++p)
      for (std::size_t a = 0; a < algorithm_table().size(); ++a)
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
          if (!share.has(p + ranks, a, op)) continue;
          const Problem& problem = problems[p];
          const AlgorithmRow& algorithm = algorithm_table()[a];
          SCOPED_TRACE(problem.name + ", " + std::string(name_of(problem.type)) + ", " +
                       std::string(algorithm.name) + ", rank " + std::to_string(rank));
          const Bytes raw = sum_of(communicator, problem, "raw", algorithm.name, op, false);
          for (const char* spec : sparse_specs)
            EXPECT_TRUE(same_bytes(
                sum_of(communicator, problem, spec, algorithm.name, op, op == ReduceOp::mean), raw))
                << spec;
        }
  });
}

class SparseRanks : public testing::TestWithParam<int> {};

/// The sizes and types change from density to density, so that over the ranks all pairs occur.
TEST_P(SparseRanks, EqualRawAtEveryDensity) {
  const int ranks = GetParam();
  const std::size_t counts[] = {1, 255, 4100, 5003, 20000};
  std::vector<Problem> problems;
  auto next = std::size_t(ranks);
  for (const double density : {0.0, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.6, 1.0})
    for (int repeat = 0; repeat < 2; ++repeat, ++next) {
      if ((ranks > 8 || races_only) && next % 3 != 0 && !takes_all_cases()) continue;
      Problem problem{.name = "density " + std::to_string(density),
                      .type = all_element_types[next % std::size(all_element_types)]};
      for (int rank = 0; rank < ranks; ++rank)
        problem.vectors.push_back(sparse_values(counts[(next + next / 4) % std::size(counts)],
                                                density, next * 100 + std::uint64_t(rank)));
      problem.name += ", count " + std::to_string(problem.vectors[0].size());
      problems.push_back(std::move(problem));
    }
  expect_raws_bits(problems);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
std::vector<int> all_ranks() { return tested_ranks(); }
#else
std::vector<int> all_ranks() { return {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33}; }
#endif

INSTANTIATE_TEST_SUITE_P(Ranks, SparseRanks, testing::ValuesIn(all_ranks()),
                         testing::PrintToStringParamName());

class SparseShapes : public testing::TestWithParam<ElementType> {
 protected:
  static void expect_equal(const char* name, Vectors vectors, std::size_t segment = 4096) {
    expect_raws_bits({{name, GetParam(), std::move(vectors), segment}});
  }
};

/// One dense column of a [V, 1024] matrix: every second block of 512 has a value.
TEST_P(SparseShapes, OneDenseColumn) {
  Vectors vectors;
  for (std::uint64_t rank = 0; rank < 4; ++rank)
    vectors.push_back(strided_values(20480, 7, 1024, rank));
  expect_equal("column", vectors);
}

TEST_P(SparseShapes, SameSupport) {
  const std::vector<double> support = sparse_values(9000, 0.03, 5);
  Vectors vectors;
  for (std::uint64_t rank = 0; rank < 5; ++rank) {
    vectors.push_back(normal_values(support.size(), rank));
    for (std::size_t i = 0; i < support.size(); ++i)
      if (support[i] == 0) vectors.back()[i] = 0;
  }
  expect_equal("same", vectors);
}

TEST_P(SparseShapes, DisjointSupports) {
  Vectors vectors;
  for (std::uint64_t rank = 0; rank < 6; ++rank)
    vectors.push_back(strided_values(9001, rank, 6, rank));
  expect_equal("disjoint, full in the union", vectors);
  for (auto& vector : vectors) std::fill(vector.begin() + 3000, vector.begin() + 6000, 0.0);
  expect_equal("disjoint, empty in the middle", vectors);
}

/// Blocks that only one rank calls full, beside those that others have a single value in.
TEST_P(SparseShapes, FullOnOneRankOnly) {
  Vectors vectors(3, std::vector<double>(6100));
  const auto dense = normal_values(6100, 1);
  std::copy_n(dense.begin() + 512, 1024, vectors[0].begin() + 512);
  std::copy_n(dense.begin() + 1100, 900, vectors[1].begin() + 1100);
  vectors[2][600] = vectors[2][2000] = vectors[2][6099] = 1;
  expect_equal("full", vectors);
}

TEST_P(SparseShapes, SpecialValues) {
  Vectors vectors(4, std::vector<double>(5003));
  const auto put = [&](std::size_t rank, std::size_t element, double value) {
    vectors[rank][element] = value;
  };
  put(0, 0, nan), put(1, 1, 2.5), put(2, 1, -nan), put(3, 2, 3);
  put(0, 700, infinity), put(1, 700, -infinity), put(2, 701, infinity);
  put(0, 1500, -0.0), put(3, 1501, -0.0), put(2, 1501, 0.0);
  for (std::size_t rank = 0; rank < 4; ++rank) put(rank, 1502, -0.0);
  for (std::size_t i = 2048; i < 2560; ++i)
    for (std::size_t rank = 0; rank < 4; ++rank) put(rank, i, -0.0);  // a full block of them
  put(1, 3000, 1e-310), put(2, 3001, 1e-41), put(3, 3002, 6e-8), put(0, 5002, -infinity);
  expect_equal("special", vectors, 512);
}

INSTANTIATE_TEST_SUITE_P(Types, SparseShapes, testing::ValuesIn(tested_types()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

/// Zero is what has no bits: -0.0 travels, and one rank alone gets its own vector back.
TEST(SparseZeros, NegativeZeroIsAValue) {
  on_ranks(1, [](int, Communicator& communicator) {
    const std::vector<float> input{0.0f, -0.0f, 1.0f};
    std::vector<float> output(3, 9.0f);
    AllreducePlan plan(communicator, 3, ElementType::f32, {.codec = "sparse", .algorithm = "ring"});
    plan.execute(input.data(), output.data());
    EXPECT_FALSE(std::signbit(output[0]));
    EXPECT_TRUE(std::signbit(output[1]));
  });
}

/// Messages of 64 bytes, most of them empty, and windows of one, in which wrong orders would hang.
TEST(SparsePipeline, SmallMessagesAndWindowsDoNotShow) {
  for (const int ranks : {2, 3, 4, 5}) {
    Problem problem{.name = "pipeline", .type = ElementType::f32, .segment = 512};
    for (int rank = 0; rank < ranks; ++rank)
      problem.vectors.push_back(sparse_values(9001, 0.03, std::uint64_t(rank)));
    const LoopbackOptions options{.preferred_message_bytes = 64};
    on_ranks(ranks, options, [&](int rank, Communicator& communicator) {
      communicator.impl().tuning = {
          .max_units_sending = 1, .max_units_receiving = 1, .low_sends = 0, .sends_per_peer = 0};
      for (const AlgorithmRow& algorithm : algorithm_table()) {
        SCOPED_TRACE(std::string(algorithm.name) + ", rank " + std::to_string(rank));
        const auto sum = [&](const char* spec) {
          return sum_of(communicator, problem, spec, algorithm.name, ReduceOp::sum, false);
        };
        for (const char* spec : sparse_specs)
          EXPECT_TRUE(same_bytes(sum(spec), sum("raw"))) << spec;
      }
    });
  }
}

TEST(SparseLarge, AMillionRaggedElements) {
  Problem problem{.name = "million", .type = ElementType::f32, .segment = 0};
  for (std::uint64_t rank = 0; rank < 3; ++rank)
    problem.vectors.push_back(sparse_values(1000003, 0.01, rank));
  expect_raws_bits({problem});
}

}  // namespace
}  // namespace cohom::test
