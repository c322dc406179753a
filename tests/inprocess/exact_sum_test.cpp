// Any number of vectors a rank: whoever adds which of them, in whatever order and on however many
// ranks, the sum has the bits of the exact one, rounded once.

#include "codecs/common/long_accumulator.hpp"
#include "elements.hpp"
#include "loopback_ranks.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "thoroughness.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/exact_sum.hpp>

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

double largest(ElementType type) {
  switch (type) {
    case ElementType::f64: return std::numeric_limits<double>::max();
    case ElementType::f16: return 65504;
    case ElementType::bf16: return 0x1.fep127;
    case ElementType::f32: break;
  }
  return std::numeric_limits<float>::max();
}

/// Vectors of one type.
struct Vectors {
  ElementType type = ElementType::f32;
  std::size_t count = 0;
  std::vector<Bytes> all = {};

  void add(std::span<const double> values) { all.push_back(to_bytes(type, values)); }

  /// The sum or mean of all, exact until the one rounding.
  [[nodiscard]] Bytes reduced(ReduceOp op) const {
    std::vector<double> result(count, op == ReduceOp::mean ? not_a_number : 0);
    std::vector<std::vector<double>> values;
    for (const Bytes& bytes : all) values.push_back(to_values(type, bytes));
    LongAccumulator sum;
    for (std::size_t i = 0; !all.empty() && i < count; ++i) {
      sum.clear();
      for (const auto& vector : values) sum.add(vector[i]);
      result[i] = sum.rounded(type, op == ReduceOp::mean ? all.size() : 1);
    }
    return to_bytes(type, result);
  }
};

/// The rank that adds each vector.
using Deal = std::vector<int>;

/// At random; of more than two ranks one gets nothing in every other deal.
Deal random_deal(std::size_t vectors, int ranks, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const int without =
      ranks > 2 && seed % 2 == 0 ? static_cast<int>(engine() % unsigned(ranks)) : -1;
  Deal deal(vectors);
  for (int& rank : deal) do
      rank = static_cast<int>(engine() % unsigned(ranks));
    while (rank == without);
  return deal;
}

ExactSum sum_of(const Vectors& vectors, const Deal& deal, int rank) {
  ExactSum sum(vectors.count, vectors.type);
  std::vector<std::size_t> own;
  for (std::size_t v = 0; v < deal.size(); ++v)
    if (deal[v] == rank) own.push_back(v);
  std::ranges::shuffle(own, std::mt19937_64(own.size()));
  for (const std::size_t v : own) sum.add(vectors.all[v].data());
  EXPECT_EQ(sum.vectors(), own.size());
  return sum;
}

/// What all ranks get.
Bytes allreduce_deal(const Vectors& vectors, const Deal& deal, int ranks, const Options& options) {
  std::vector<Bytes> results(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const ExactSum sum = sum_of(vectors, deal, rank);
    Bytes& output = results[std::size_t(rank)];
    output.resize(vectors.count * size_of(vectors.type));
    sum.allreduce(output.data(), communicator, options);
  });
  for (const Bytes& result : results) EXPECT_TRUE(result == results[0]) << "ranks differ";
  return results[0];
}

void expect_bits(const Bytes& found, const Bytes& right, ElementType type,
                 const std::string& what) {
  if (found == right) return;
  const auto a = to_values(type, found), b = to_values(type, right);
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(std::equal(found.begin() + std::ptrdiff_t(i * size_of(type)),
                           found.begin() + std::ptrdiff_t((i + 1) * size_of(type)),
                           right.begin() + std::ptrdiff_t(i * size_of(type))))
        << what << ", element " << i << ": " << a[i] << " instead of " << b[i];
}

/// Numbers whose exponents differ within and between mini-blocks, and from vector to vector.
Vectors random_vectors(ElementType type, std::size_t count, std::size_t vectors,
                       std::uint64_t seed) {
  Vectors made{type, count};
  const int spread = type == ElementType::f16 ? 5 : 20;
  std::mt19937_64 engine(seed);
  for (std::size_t v = 0; v < vectors; ++v) {
    auto values = normal_values(count, seed * 1000 + v);
    for (double& value : values)
      value = std::ldexp(value, static_cast<int>(engine() % unsigned(spread)) - spread);
    made.add(values);
  }
  return made;
}

using Case = std::tuple<ElementType, ReduceOp, std::size_t>;

class ExactSums : public testing::TestWithParam<Case> {};

TEST_P(ExactSums, HaveTheSameBitsHoweverVectorsAreDealt) {
  const auto& [type, op, count] = GetParam();
  const Vectors vectors = random_vectors(type, count, 64, 1);
  const Bytes right = vectors.reduced(op);
  std::set<std::uint64_t> hashes;
  for (const int ranks : {1, 2, 3, 5, 8})
    for (std::uint64_t split = 0; split < (sanitized ? 3 : 10); ++split) {
      const Deal deal = random_deal(vectors.all.size(), ranks, split * 100 + std::uint64_t(ranks));
      const Bytes found = allreduce_deal(vectors, deal, ranks, {.op = op});
      hashes.insert(XXH3_64bits(found.data(), found.size()));
      expect_bits(found, right, type,
                  std::to_string(ranks) + " ranks, split " + std::to_string(split));
    }
  EXPECT_EQ(hashes.size(), 1u);
}

std::string name_of_case(const testing::TestParamInfo<Case>& test) {
  const auto& [type, op, count] = test.param;
  return std::string(name_of(type)) + "_" + std::string(name_of(op)) + "_" + std::to_string(count);
}

INSTANTIATE_TEST_SUITE_P(All, ExactSums,
                         testing::Combine(testing::ValuesIn(all_element_types),
                                          testing::Values(ReduceOp::sum, ReduceOp::mean),
                                          testing::Values(7, 3001)),
                         name_of_case);

/// One NaN among all, infinities of one sign or both, -0 on all and on all but one, what cancels.
Vectors special_vectors(ElementType type, std::size_t count, std::size_t vectors) {
  Vectors made = random_vectors(type, count, 0, 3);
  for (std::size_t v = 0; v < vectors; ++v) {
    auto values = normal_values(count, v + 50);
    for (std::size_t i = 0; i < count; ++i) {
      double& value = values[i];
      switch (i % 29) {
        case 3: value = v == 17 ? not_a_number : value; break;
        case 6: value = v == 5 ? infinity : value; break;
        case 9: value = v % 9 == 1 ? -infinity : value; break;
        case 12: value = v == 2 ? infinity : v == 40 ? -infinity : value; break;
        case 15: value = -0.0; break;
        case 18: value = v == vectors - 1 ? 0.0 : -0.0; break;
        case 21: value = v % 2 == 0 ? 1 : -1; break;
        case 24: value = 0; break;
        default: break;
      }
    }
    made.add(values);
  }
  return made;
}

TEST(ExactSums, TakeValuesThatAreNotFiniteAndZerosOfBothSigns) {
  for (const ElementType type : all_element_types)
    for (const std::size_t count : {40, 2500})
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
        const Vectors vectors = special_vectors(type, count, 64);
        const Bytes right = vectors.reduced(op);
        for (const int ranks : {1, 3, 8})
          for (std::uint64_t split = 0; split < 3; ++split)
            expect_bits(allreduce_deal(vectors, random_deal(64, ranks, split), ranks, {.op = op}),
                        right, type,
                        std::string(name_of(type)) + " on " + std::to_string(ranks) + " ranks");
      }
}

/// -0 needs all vectors to have it, but those are no vectors that a rank does not have.
TEST(ExactSums, AreMinusZeroWhereAllVectorsAre) {
  for (const std::size_t count : {40, 2500}) {
    Vectors vectors{ElementType::f32, count};
    const std::vector<double> zeros(count, -0.0);
    for (int v = 0; v < 5; ++v) vectors.add(zeros);
    for (const int ranks : {1, 3, 8})
      expect_bits(allreduce_deal(vectors, {0, 0, 0, 0, 0}, ranks, {}), vectors.all[0],
                  ElementType::f32, std::to_string(ranks) + " ranks");
  }
}

/// A rank's own sum is too large for the type, and the sum of all is not; or that is, and the mean
/// is not.
TEST(ExactSums, MayOverflowOnTheWay) {
  for (const ElementType type : all_element_types)
    for (const std::size_t count : {40, 2500})
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
        Vectors vectors{type, count};
        for (int v = 0; v < 64; ++v) {
          auto values = normal_values(count, std::uint64_t(v) + 9);
          for (std::size_t i = 0; i < count; i += 3)
            values[i] = i % 2 == 0 && v % 2 == 1 ? -largest(type) : largest(type);
          for (std::size_t i = 1; i < count; i += 19) values[i] = v == 3 ? -0.75 : 0.0;
          vectors.add(values);
        }
        const Bytes right = vectors.reduced(op);
        for (const int ranks : {1, 2, 5}) {
          Deal deal;
          for (int v = 0; v < 64; ++v) deal.push_back(v % ranks);  // of two: one of each sign
          expect_bits(allreduce_deal(vectors, deal, ranks, {.op = op}), right, type,
                      std::string(name_of(type)) + " on " + std::to_string(ranks) + " ranks");
        }
      }
}

TEST(ExactSums, TakeEveryAlgorithmAndPieces) {
  const Vectors vectors = special_vectors(ElementType::f32, 20000, 12);
  const Vectors doubles = special_vectors(ElementType::f64, 100, 12);
  for (const Vectors* const some : {&vectors, &doubles})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
      const Bytes right = some->reduced(op);
      for (const AlgorithmRow& algorithm : algorithm_table())
        for (const int ranks : {2, 5})
          expect_bits(allreduce_deal(*some, random_deal(12, ranks, 7), ranks,
                                     {.codec = "exact",
                                      .algorithm = std::string(algorithm.name),
                                      .op = op,
                                      .segment = 2048}),
                      right, some->type, std::string(algorithm.name));
    }
}

TEST(ExactSums, AddAThousandVectorsOnOneRank) {
  for (const ElementType type : {ElementType::f16, ElementType::f32})
    for (const std::size_t count : {100, 1500}) {
      const Vectors vectors = random_vectors(type, count, 1000, 11);
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean})
        expect_bits(allreduce_deal(vectors, Deal(1000, 1), 3, {.op = op}), vectors.reduced(op),
                    type, std::string(name_of(type)));
    }
}

TEST(ExactSums, OfNoVectorsAreZeroAndTheirMeanIsNaN) {
  for (const ElementType type : all_element_types)
    for (const std::size_t count : {1, 40, 2500})
      for (const int ranks : {1, 4})
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean})
          for (const char* const algorithm : {"ring", "direct", "tree"}) {
            const Vectors none{type, count};
            expect_bits(allreduce_deal(none, {}, ranks, {.algorithm = algorithm, .op = op}),
                        none.reduced(op), type, std::to_string(ranks) + " ranks");
          }
}

TEST(ExactSums, OfNoElements) {
  on_ranks(3, [](int rank, Communicator& communicator) {
    ExactSum sum(0, ElementType::f32);
    for (int v = 0; v < rank; ++v) sum.add(nullptr);
    EXPECT_EQ(sum.vectors(), std::uint64_t(rank));
    sum.allreduce(nullptr, communicator);
  });
}

/// Vectors stay for later calls, until they are forgotten.
TEST(ExactSums, AreReducedAgainAndReset) {
  const Vectors vectors = random_vectors(ElementType::f32, 2000, 9, 21);
  on_ranks(3, [&](int rank, Communicator& communicator) {
    ExactSum sum(2000, ElementType::f32);
    Vectors added{ElementType::f32, 2000};
    Bytes output(2000 * 4);
    for (int round = 0; round < 3; ++round) {
      for (std::size_t v = 0; v < 3; ++v) {
        const Bytes& vector = vectors.all[std::size_t(round) * 3 + v];
        if (int(v) == rank) sum.add(vector.data());
        added.all.push_back(vector);
      }
      sum.allreduce(output.data(), communicator);
      expect_bits(output, added.reduced(ReduceOp::sum), ElementType::f32, "all so far");
    }
    sum.reset();
    EXPECT_EQ(sum.vectors(), 0u);
    const Vectors other = special_vectors(ElementType::f32, 2000, 3);
    sum.add(other.all[std::size_t(rank)].data());
    sum.allreduce(output.data(), communicator);
    expect_bits(output, other.reduced(ReduceOp::sum), ElementType::f32, "after a reset");
  });
}

/// Ranks that have one vector may say so by their own call.
TEST(ExactSums, MeetPlainVectors) {
  const Vectors vectors = special_vectors(ElementType::f32, 3000, 5);
  const Bytes right = vectors.reduced(ReduceOp::mean);
  on_ranks(3, [&](int rank, Communicator& communicator) {
    Bytes output(3000 * 4);
    const Options options{.codec = "exact:vectors=many", .op = ReduceOp::mean};
    if (rank == 1) {
      allreduce(vectors.all[0].data(), output.data(), 3000, ElementType::f32, communicator,
                options);
    } else {
      ExactSum sum(3000, ElementType::f32);
      const std::size_t first = rank == 0 ? 1 : 3;
      for (std::size_t v = first; v < first + 2; ++v) sum.add(vectors.all[v].data());
      sum.allreduce(output.data(), communicator, options);
    }
    expect_bits(output, right, ElementType::f32, "mixed");
  });
}

TEST(ExactSums, AreTypedAndInFlightTogether) {
  on_ranks(2, {.eager_limit = 0, .delay = 64}, [](int rank, Communicator& communicator) {
    std::vector<ExactSum> sums;
    std::vector<std::vector<double>> outputs(3, std::vector<double>(500));
    std::vector<Request> requests;
    for (int i = 0; i < 3; ++i) {
      sums.emplace_back(500, ElementType::f64);
      for (int v = 0; v <= rank + i; ++v) sums.back().add(std::vector<double>(500, 0.1));
    }
    for (std::size_t i = 0; i < 3; ++i)
      requests.push_back(sums[i].allreduce_start(outputs[i].data(), communicator));
    sums.clear();  // what was added lives as long as it is needed
    for (Request& request : requests) request.wait();
    for (std::size_t i = 0; i < 3; ++i) {
      LongAccumulator sum;
      for (std::size_t v = 0; v < 3 + 2 * i; ++v) sum.add(0.1);
      EXPECT_EQ(outputs[i], std::vector<double>(500, sum.rounded(ElementType::f64, 1)));
    }
    ExactSum sum(500, ElementType::f64);
    sum.allreduce(outputs[0], communicator);
    EXPECT_EQ(outputs[0], std::vector<double>(500, 0.0));
  });
}

/// The text of the error that a function throws.
std::string text_of(ErrorKind kind, const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

void expect_text(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* const word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "no \"" << word << "\" in: " << text;
}

TEST(ExactSums, RefuseWrongVectorsAndStayAsTheyAre) {
  ExactSum sum(100, ElementType::f32);
  sum.add(std::vector<float>(100, 2.0f));
  expect_text(text_of(ErrorKind::invalid_argument, [&] { sum.add(nullptr); }),
              {"vector is null", "100 elements of f32"});
  expect_text(text_of(ErrorKind::invalid_argument, [&] { sum.add(std::vector<float>(99)); }),
              {"99 elements of f32", "the sum is of 100 elements of f32"});
  expect_text(text_of(ErrorKind::invalid_argument, [&] { sum.add(std::vector<double>(100)); }),
              {"100 elements of f64", "the sum is of 100 elements of f32"});
  expect_text(text_of(ErrorKind::invalid_argument,
                      [&] { const ExactSum huge(std::size_t(-1) / 2, ElementType::f32); }),
              {"count", "overflows"});
  expect_text(text_of(ErrorKind::invalid_argument,
                      [] { const ExactSum none(10, static_cast<ElementType>(9)); }),
              {"type 9", "give f32, f16, bf16 or f64"});
  EXPECT_EQ(sum.vectors(), 1u);
  on_ranks(1, [&](int, Communicator& communicator) {
    std::vector<float> output(100);
    sum.allreduce(output, communicator);
    EXPECT_EQ(output, std::vector<float>(100, 2.0f));
  });
}

/// What is wrong on the last rank is the same error on all.
void expect_error_everywhere(ErrorKind kind, std::initializer_list<const char*> words,
                             const std::function<void(bool last, Communicator&)>& call) {
  constexpr int ranks = 3;
  std::vector<std::string> texts(ranks);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    texts[std::size_t(rank)] = text_of(kind, [&] { call(rank == ranks - 1, communicator); });
    ExactSum sum(10, ElementType::f32);  // the next call is a right one
    sum.add(std::vector<float>(10, 1.0f));
    std::vector<float> output(10);
    sum.allreduce(output, communicator);
    EXPECT_EQ(output, std::vector<float>(10, float(ranks)));
  });
  expect_text(texts[0], words);
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
}

TEST(ExactSums, TellAllRanksOfWrongCalls) {
  std::vector<float> output(100);
  const auto call_of = [](std::size_t count, ElementType type, const Options& options) {
    return [=](Communicator& communicator) {
      Bytes place(count * size_of(type));
      ExactSum(count, type).allreduce(place.data(), communicator, options);
    };
  };
  const auto right = call_of(100, ElementType::f32, {});
  const struct {
    ErrorKind kind;
    std::initializer_list<const char*> words;
    std::function<void(Communicator&)> wrong;
  } cases[] = {
      {ErrorKind::mismatch, {"count", "100", "101"}, call_of(101, ElementType::f32, {})},
      {ErrorKind::mismatch, {"element type", "f32", "f64"}, call_of(100, ElementType::f64, {})},
      {ErrorKind::mismatch, {"op", "mean"}, call_of(100, ElementType::f32, {.op = ReduceOp::mean})},
      {ErrorKind::invalid_argument,
       {"rank 2", "codec \"thc:bits=4\"", "exact"},
       call_of(100, ElementType::f32, {.codec = "thc:bits=4"})},
      {ErrorKind::invalid_argument,
       {"rank 2", "exact:vectors=one", "vectors=many"},
       call_of(100, ElementType::f32, {.codec = "exact:vectors=one"})},
      {ErrorKind::invalid_argument,
       {"rank 2", "vector=many", "vectors"},
       call_of(100, ElementType::f32, {.codec = "exact:vector=many"})},
      {ErrorKind::invalid_argument,
       {"rank 2", "codec \"EXACT\" is unknown", "did you mean exact"},
       call_of(100, ElementType::f32, {.codec = "EXACT"})},
      {ErrorKind::invalid_argument,
       {"rank 2", "vectors=lots", "one, many"},
       call_of(100, ElementType::f32, {.codec = "exact:vectors=lots"})},
      {ErrorKind::invalid_argument,
       {"rank 2", "output is null"},
       [](Communicator& communicator) {
         ExactSum(100, ElementType::f32).allreduce(nullptr, communicator);
       }},
      {ErrorKind::invalid_argument,
       {"rank 2", "output has 99 elements of f32", "the sum is of 100"},
       [](Communicator& communicator) {
         ExactSum(100, ElementType::f32).allreduce(std::vector<float>(99), communicator);
       }},
  };
  for (const auto& one : cases)
    expect_error_everywhere(one.kind, one.words, [&](bool last, Communicator& communicator) {
      last ? one.wrong(communicator) : right(communicator);
    });
}

TEST(ExactSums, AreNotChangedInFlight) {
  on_ranks(2, [](int, Communicator& communicator) {
    ExactSum sum(100, ElementType::f32);
    std::vector<float> output(100);
    Request request = sum.allreduce_start(output.data(), communicator);
    if (communicator.ranks() > 1) {
      expect_text(text_of(ErrorKind::state, [&] { sum.add(output); }), {"in flight"});
      expect_text(text_of(ErrorKind::state, [&] { sum.reset(); }), {"in flight"});
    }
    request.wait();
    sum.add(std::vector<float>(100, 1.0f));
    sum.allreduce(output, communicator);
    EXPECT_EQ(output, std::vector<float>(100, 2.0f));
  });
}

/// Each rank has its share of 2^32 - 1. Vectors without elements cost little.
TEST(ExactSums, HaveALimit) {
  constexpr int ranks = 256;
  constexpr std::uint64_t share = 0xffff'ffff / ranks;
  ExactSum full(0, ElementType::f32);
  for (std::uint64_t v = 0; v < share; ++v) full.add(nullptr);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const ExactSum none(0, ElementType::f32);
    const ExactSum& sum = rank == 1 ? full : none;
    sum.allreduce(nullptr, communicator);
    if (rank == 1) full.add(nullptr);
    const std::string text =
        text_of(ErrorKind::unsupported, [&] { sum.allreduce(nullptr, communicator); });
    expect_text(text, {"rank 1", "each can add at most"});
    EXPECT_NE(text.find("added " + std::to_string(share + 1) + " vectors"), std::string::npos);
  });
}

}  // namespace
}  // namespace cohom::test
