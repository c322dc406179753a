// sparse+exact: every bit of exact's results, whatever is zero on whom.

#include "codecs/sparse_exact/sparse_exact.hpp"
#include "codecs/exact/exact.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include "codec_harness.hpp"
#include "exact_data.hpp"
#include "loopback_ranks.hpp"
#include "lying_peer.hpp"
#include "same_bytes.hpp"
#include "sparse_vectors.hpp"
#include "thoroughness.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::size_t unit = 16384;
constexpr std::size_t long_count = 100003;  // six units, and a ragged one

struct Call {
  ExactProblem problem;
  std::string name;
  std::size_t segment = 0;
  std::vector<Bytes> inputs = {};
};

/// Most elements of a rank become +0. Where all elements stay, where ranks have -0, and a unit
/// without any value, are places of their own.
void thin_out(const ExactProblem& problem, std::vector<Bytes>& inputs, unsigned one_in) {
  const std::size_t size = size_of(problem.type);
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    std::mt19937_64 engine(problem.seed + 1000 * rank);
    const auto write = [&](std::size_t i, std::byte top) {
      std::fill_n(inputs[rank].begin() + std::ptrdiff_t(i * size), size, std::byte{});
      inputs[rank][(i + 1) * size - 1] = top;
    };
    for (std::size_t i = 0; i < problem.count; ++i) {
      const bool stays = engine() % one_in == 0 || (i >= 5000 && i < 9000);
      const bool empty_unit = i / unit == 2;
      if (!stays || empty_unit) write(i, std::byte{});
      if (i % 1000 < 20) write(i, std::byte{0x80});  // -0 on all ranks
      if (i % 1000 >= 20 && i % 1000 < 40 && rank == i % inputs.size())
        write(i, std::byte{0x80});  // on one
      if (empty_unit) write(i, std::byte{});
    }
  }
}

/// With numbers of every kind that exact treats apart, NaNs and infinities among them: as they are,
/// and with few left.
std::vector<Call> calls_of(int ranks, ElementType type) {
  std::vector<Call> calls;
  std::uint64_t seed = std::uint64_t(ranks) + 100 * std::uint64_t(type);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000},
                                  std::size_t{1025}, 2 * unit + 17, long_count})
    for (const unsigned one_in : {1u, 50u}) {
      if (count == long_count && (one_in == 1 || races_only)) continue;
      ++seed;
      const ExactData& data = exact_data()[seed % exact_data().size()];
      Call call{{type, ranks, count, seed % 2 == 0, seed}, "", seed % 3 == 0 ? unit : 0};
      call.name = std::string(count % 2 == 0 ? data.name : "random") + ", one of " +
                  std::to_string(one_in) + ", " + call.problem.name();
      call.inputs = count == 0       ? std::vector<Bytes>(std::size_t(ranks))
                    : count % 2 == 0 ? data.make(call.problem)
                                     : random_exact_vectors(call.problem);
      if (one_in != 1) thin_out(call.problem, call.inputs, one_in);
      calls.push_back(std::move(call));
    }
  return calls;
}

Bytes result_of(const Call& call, const std::string& codec, std::string_view algorithm,
                bool in_place, int rank, Communicator& communicator) {
  const Bytes& input = call.inputs[std::size_t(rank)];
  Bytes output = in_place ? input : Bytes(input.size(), std::byte{0xee});
  allreduce(in_place ? output.data() : input.data(), output.data(), call.problem.count,
            call.problem.type, communicator,
            {.codec = codec,
             .algorithm = std::string(algorithm),
             .op = call.problem.mean ? ReduceOp::mean : ReduceOp::sum,
             .segment = call.segment});
  return output;
}

class SparseExact : public testing::TestWithParam<std::tuple<int, ElementType>> {};

TEST_P(SparseExact, HasTheBitsOfExactByEveryAlgorithm) {
  const auto [ranks, type] = GetParam();
  const Watchdog watchdog("sparse+exact on " + std::to_string(ranks) + " ranks");
  const auto calls = calls_of(ranks, type);
  const PairShare share(2);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    bool in_place = false;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const Call& call = calls[c];
      std::size_t index = 0;
      const Bytes expected = result_of(call, "exact", "direct", false, rank, communicator);
      for (const AlgorithmRow& algorithm : algorithm_table()) {
        if (!share.has(c, index++, type)) continue;
        const char* const codec = in_place ? "sparse+exact" : "sparse+exact:index=flat";
        EXPECT_TRUE(same_bytes(result_of(call, codec, algorithm.name, in_place, rank, communicator),
                               expected))
            << codec << ", " << call.name << " by " << algorithm.name << ", rank " << rank;
        in_place = !in_place;
      }
    }
  });
}

std::vector<int> exact_ranks() {
  return races_only ? std::vector{2, 3} : std::vector{1, 2, 3, 5, 8};
}

INSTANTIATE_TEST_SUITE_P(Ranks, SparseExact,
                         testing::Combine(testing::ValuesIn(exact_ranks()),
                                          testing::ValuesIn(tested_types())),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "_" +
                                  std::string(name_of(std::get<1>(test.param)));
                         });

/// Units that end in a wide mini-block which is not whole, one behind the other, in either form.
TEST(SparseExactUnits, MayEndWithinWideMiniBlocks) {
  for (const ElementType type : all_element_types) {
    const ExactProblem problem{type, 3, 5 * unit + 100};
    std::vector<Bytes> inputs(3, Bytes(problem.count * size_of(type)));
    std::vector<std::vector<double>> values(3, std::vector<double>(problem.count));
    std::mt19937_64 engine(7);
    for (std::size_t first = 0; first < problem.count; first += unit)
      for (std::size_t i = first; i < std::min(first + unit, problem.count); ++i)
        if (engine() % 600 == 0 || i == first)
          values[engine() % 3][i] = engine() % 2 == 0 ? HUGE_VAL : double(engine() % 1000);
    for (std::size_t rank = 0; rank < 3; ++rank) inputs[rank] = to_bytes(type, values[rank]);
    HarnessSetup setup{.make = exact_codec().make, .ranks = 3, .type = type, .segment = unit};
    const Bytes expected = CodecHarness(setup).allreduce(inputs);
    setup.make = sparse_exact_codec().make;
    for (const Form form : {Form::narrow, Form::wide})
      for (const std::size_t segment : {unit, 3 * unit}) {
        setup.form = form;
        setup.segment = segment;
        CodecHarness harness(setup);
        EXPECT_TRUE(same_bytes(harness.allreduce(inputs), expected)) << name_of(type);
        EXPECT_TRUE(same_bytes(harness.allreduce(inputs), expected)) << "second call";
      }
  }
}

/// Words of all rounds, of a rank's contribution or of the sums.
struct Words {
  std::size_t contribution = 0, sum = 0;
};

Words words_of(HarnessSetup setup, std::span<const std::vector<double>> vectors) {
  CodecHarness harness(std::move(setup));
  harness.allreduce(vectors);
  Words words;
  for (std::size_t round = 0; round < harness.codec(0).rounds().size(); ++round) {
    words.contribution += harness.contribution(int(round), 0).size();
    words.sum += harness.sum(int(round)).size();
  }
  return words;
}

/// Of ranks whose values lie anywhere.
TEST(SparseExactWords, FollowTheUnion) {
  std::vector<std::vector<double>> vectors;
  for (std::uint64_t rank = 0; rank < 4; ++rank)
    vectors.push_back(sparse_values(long_count, 0.01, rank + 10));
  const HarnessSetup setup{
      .make = exact_codec().make, .ranks = 4, .chunks = 1, .segment = 4 * unit};
  HarnessSetup compacted = setup;
  compacted.make = sparse_exact_codec().make;
  const Words whole = words_of(setup, vectors), of_union = words_of(compacted, vectors);
  RecordProperty("contribution_bytes", int(8 * of_union.contribution));
  RecordProperty("sum_bytes", int(8 * of_union.sum));
  RecordProperty("exact_contribution_bytes", int(8 * whole.contribution));
  RecordProperty("exact_sum_bytes", int(8 * whole.sum));
  // 3.9% of the elements, of 33 bits and a header, and a bit an element for their places.
  EXPECT_LE(8 * of_union.contribution, long_count * 4 * 0.09);
  EXPECT_LE(8 * of_union.sum, long_count * 4 * 0.09);
  EXPECT_GE(whole.sum, 10 * of_union.sum);
}

TEST(SparseExactOptions, AreThoseOfTheIndex) {
  const auto message_of = [](const Parameters& parameters) -> std::string {
    try {
      sparse_exact_codec().make(
          {.ranks = 4, .kernels = kernels::kernel_table(), .parameters = parameters});
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message_of({{"index", "bloom"}, {"false_positives", "1/64"}}), "accepted");
  for (const char* name : {"vectors", "bits"})
    EXPECT_NE(
        message_of({{name, "many"}}).find(std::string("sparse+exact has no parameter '") + name),
        std::string::npos)
        << message_of({{name, "many"}});
  EXPECT_NE(message_of({{"index", "x"}}).find("two-level, flat or bloom"), std::string::npos);
}

/// The form of short vectors is for whole ones: here it depends on what is left.
TEST(SparseExactOptions, ShortVectorsHaveTheRoundsOfLongOnes) {
  for (const std::size_t elements : {1, 100000})
    EXPECT_EQ(sparse_exact_codec()
                  .make({.ranks = 4, .kernels = kernels::kernel_table(), .elements = elements})
                  ->rounds()
                  .size(),
              5u);
}

/// An error or another sum, but no crash, and not all wait for ever.
TEST(SparseExactPeers, ThatLieCrashNobody) {
  const std::uint64_t count = races_only ? 20 : 300;
  std::size_t failed = 0;
  for (std::uint64_t seed = 900; seed < 900 + count; ++seed) {
    LyingPeerCase lying = lying_peer_case(seed);
    lying.spec = seed % 2 == 0 ? "sparse+exact" : "sparse+exact:index=flat";
    SCOPED_TRACE(lying.name());
    const LyingPeerReport report = run_lying_peer(lying);
    EXPECT_NE(report.outcome, LyingPeerOutcome::stuck);
    failed += report.outcome == LyingPeerOutcome::failed ? 1 : 0;
  }
  EXPECT_GT(failed, count / 10) << "the lies were heard";
}

}  // namespace
}  // namespace cohom::test
