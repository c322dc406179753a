// Rounds over somebody else's reductions have the bits of the library's own allreduce.

#include "codec_specs.hpp"
#include "elements.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "thoroughness.hpp"

#include <cohom/rounds.h>
#include <cohom/error.hpp>
#include <cohom/plan.hpp>
#include <cohom/rounds.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cohom::test {
namespace {

using Steps = std::vector<const RoundStep*>;  ///< by rank

template <class Number>
std::span<Number> as(std::span<std::uint64_t> words) {
  return {reinterpret_cast<Number*>(words.data()), words.size_bytes() / sizeof(Number)};
}

template <class Number>
void reduce_numbers(const Steps& steps, MergeKind operation) {
  std::vector<Number> result(as<Number>(steps[0]->words).begin(),
                             as<Number>(steps[0]->words).end());
  ASSERT_EQ(result.size(), steps[0]->numbers);
  for (std::size_t r = 1; r < steps.size(); ++r) {
    const auto own = as<Number>(steps[r]->words);
    ASSERT_EQ(own.size(), result.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (operation == MergeKind::add) {  // as libraries do: it wraps
        using Unsigned = std::make_unsigned_t<Number>;
        result[i] = Number(Unsigned(Unsigned(result[i]) + Unsigned(own[i])));
      }
      if (operation == MergeKind::max) result[i] = std::max(result[i], own[i]);
      if (operation == MergeKind::bit_or) result[i] = Number(result[i] | own[i]);
    }
  }
  for (const RoundStep* const step : steps)
    std::ranges::copy(result, as<Number>(step->words).begin());
}

void all_reduce(const Steps& steps) {
  const MergeKind operation = steps[0]->operation;
  switch (steps[0]->type) {
    case StepNumbers::u8: return reduce_numbers<std::uint8_t>(steps, operation);
    case StepNumbers::u16: return reduce_numbers<std::uint16_t>(steps, operation);
    case StepNumbers::u32: return reduce_numbers<std::uint32_t>(steps, operation);
    case StepNumbers::u64: return reduce_numbers<std::uint64_t>(steps, operation);
    case StepNumbers::i32: return reduce_numbers<std::int32_t>(steps, operation);
    case StepNumbers::i64: return reduce_numbers<std::int64_t>(steps, operation);
  }
}

std::size_t begin_of(std::span<const std::size_t> counts, std::size_t part) {
  std::size_t begin = 0;
  for (std::size_t p = 0; p < part; ++p) begin += counts[p];
  return begin;
}

void exchange(const Steps& steps) {
  for (std::size_t to = 0; to < steps.size(); ++to)
    for (std::size_t from = 0; from < steps.size(); ++from) {
      const RoundStep& sender = *steps[from];
      const std::size_t part = sender.kind == Collective::all_gather ? 0 : to;
      ASSERT_EQ(sender.send_counts[part], steps[to]->receive_counts[from]) << sender.name;
      const auto words =
          sender.send.subspan(begin_of(sender.send_counts, part), sender.send_counts[part]);
      std::ranges::copy(words, steps[to]->receive.begin() +
                                   std::ptrdiff_t(begin_of(steps[to]->receive_counts, from)));
    }
}

/// All ranks in one thread, step by step; `change` may look at the steps before they are made.
/// @returns how many steps there were
std::size_t run(std::vector<Rounds>& ranks,
                const std::function<void(const Steps&)>& change = nullptr) {
  for (std::size_t count = 0;; ++count) {
    Steps steps;
    for (Rounds& rank : ranks) steps.push_back(rank.next());
    for (const RoundStep* const step : steps) {
      EXPECT_EQ(step == nullptr, steps[0] == nullptr);
      if (step == nullptr || steps[0] == nullptr) continue;
      EXPECT_EQ(step->kind, steps[0]->kind);
      EXPECT_EQ(step->name, steps[0]->name);
    }
    if (std::ranges::find(steps, nullptr) != steps.end() || testing::Test::HasFatalFailure())
      return count;
    if (change) change(steps);
    if (steps[0]->kind == Collective::all_reduce) {
      all_reduce(steps);
    } else {
      exchange(steps);
    }
  }
}

std::vector<Rounds> rounds_of(std::string_view spec, const RankInputs& inputs,
                              const RoundsOptions& options) {
  std::vector<Rounds> all;
  for (int rank = 0; rank < inputs.ranks(); ++rank)
    all.emplace_back(spec, inputs.count(), inputs.type(), rank, inputs.ranks(), options);
  return all;
}

/// By the library, with the same pieces, two calls one after the other, in place.
std::vector<Bytes> expected_of(std::string_view spec, const RankInputs& inputs, ReduceOp op) {
  std::vector<Bytes> results(2);
  on_ranks(inputs.ranks(), [&](int rank, Communicator& communicator) {
    AllreducePlan plan(communicator, inputs.count(), inputs.type(),
                       {.codec = std::string(spec),
                        .algorithm = "direct",
                        .op = op,
                        .segment = 1 << 20});  // a piece a rank: sketch's sums depend on pieces
    for (Bytes& result : results) {
      Bytes data = inputs.bytes(rank);
      plan.execute(data.data(), data.data());
      if (rank == 0) result = data;
    }
  });
  return results;
}

const RoundsOptions reductions[] = {
    {},
    {.all_to_all = true},
    {.has_bit_or = false, .has_small_max = false, .has_unsigned = false},
    {.all_to_all = true, .has_bit_or = false, .has_small_max = false, .has_unsigned = false}};

class RoundsOfEveryCodec : public testing::TestWithParam<ElementType> {};

TEST_P(RoundsOfEveryCodec, HaveTheBitsOfDirect) {
  CaseShare share(5, 17);
  for (const int ranks : {1, 2, 3, 5, 8})
    for (const std::size_t count : {std::size_t{1}, std::size_t{700}, std::size_t{40'003}})
      for (const CodecSpec& codec : specs_for(ranks)) {
        if (share.skips_this()) continue;
        const RankInputs inputs(ranks, GetParam(), count, 7);
        const ReduceOp op = ranks % 2 == 0 ? ReduceOp::sum : ReduceOp::mean;
        const auto expected = expected_of(codec.spec, inputs, op);
        for (RoundsOptions options : reductions) {
          options.op = op;
          auto all = rounds_of(codec.spec, inputs, options);
          for (std::uint64_t step = 0; step < 2; ++step) {
            std::vector<Bytes> data;
            for (int rank = 0; rank < ranks; ++rank) data.push_back(inputs.bytes(rank));
            for (std::size_t r = 0; r < all.size(); ++r)
              all[r].begin(data[r].data(), data[r].data(), step);
            const std::size_t steps = run(all);
            EXPECT_EQ(steps == 0, ranks == 1);
            for (std::size_t r = 0; r < all.size(); ++r)
              EXPECT_TRUE(same_bytes(data[r], expected[step]))
                  << codec.spec << ", " << inputs.name() << ", rank " << r << ", step " << step
                  << (options.all_to_all ? ", all_to_all" : "")
                  << (options.has_unsigned ? "" : ", poor reductions");
            if (HasFailure()) return;
          }
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Types, RoundsOfEveryCodec, testing::ValuesIn(tested_types()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

/// What plans by `direct` give this rank of two calls.
template <class PartsPlan>
std::vector<std::vector<Bytes>> expected_parts(std::string_view spec, const RankInputs& inputs,
                                               std::size_t count, std::size_t output_bytes) {
  std::vector<std::vector<Bytes>> results(std::size_t(inputs.ranks()));
  on_ranks(inputs.ranks(), [&](int rank, Communicator& communicator) {
    PartsPlan plan(
        communicator, count, inputs.type(),
        {.codec = std::string(spec), .algorithm = "direct", .segment = 1 << 20, .native = "never"});
    for (int call = 0; call < 2; ++call) {
      Bytes output(output_bytes);
      plan.execute(inputs.bytes(rank).data(), output.data());
      results[std::size_t(rank)].push_back(std::move(output));
    }
  });
  return results;
}

/// Two calls with buffers of their own.
void expect_parts(std::string_view spec, const RankInputs& inputs, std::size_t count,
                  const RoundsOptions& options, const std::vector<std::vector<Bytes>>& expected) {
  SCOPED_TRACE(std::string(spec) + ", " + std::string(name_of(options.collective)) + ", " +
               inputs.name() + (options.all_to_all ? ", all_to_all" : ""));
  std::vector<Rounds> all;
  for (int rank = 0; rank < inputs.ranks(); ++rank)
    all.emplace_back(spec, count, inputs.type(), rank, inputs.ranks(), options);
  for (std::uint64_t step = 0; step < 2; ++step) {
    std::vector<Bytes> outputs;
    for (const auto& of_rank : expected) outputs.emplace_back(of_rank[0].size());
    for (std::size_t r = 0; r < all.size(); ++r)
      all[r].begin(inputs.bytes(int(r)).data(), outputs[r].data(), step);
    run(all);
    for (std::size_t r = 0; r < all.size(); ++r)
      EXPECT_TRUE(same_bytes(outputs[r], expected[r][step])) << "rank " << r << ", step " << step;
  }
}

TEST(Rounds, OfPartsHaveTheBitsOfDirect) {
  CaseShare share(2, 7);
  for (const int ranks : {1, 2, 3, 5})
    for (const std::size_t count : {std::size_t{1}, std::size_t{1001}, std::size_t{8192}})
      for (const CodecSpec& codec : specs_for(ranks)) {
        if (share.skips_this()) continue;
        const RankInputs wholes(ranks, ElementType::f32, count * std::size_t(ranks), 7);
        const auto parts = expected_parts<ReduceScatterPlan>(codec.spec, wholes, count, 4 * count);
        for (RoundsOptions options : reductions) {
          options.collective = ReductionKind::reduce_scatter;
          expect_parts(codec.spec, wholes, count, options, parts);
        }
        const RankInputs own(ranks, ElementType::f32, count, 7);
        const RoundsOptions gathers{.collective = ReductionKind::allgather};
        try {
          const Rounds any(codec.spec, count, ElementType::f32, 0, ranks, gathers);
        } catch (const Error& error) {  // it keeps state
          EXPECT_NE(std::string(error.what()).find("without error feedback"), std::string::npos)
              << error.what();
          continue;
        }
        expect_parts(
            codec.spec, own, count, gathers,
            expected_parts<AllgatherPlan>(codec.spec, own, count, 4 * count * std::size_t(ranks)));
      }
}

// What exact needs for numbers of any size is known by call, and not to the others.
TEST(Rounds, OfPartsOfOutliersOnOneRankHaveTheBitsOfDirect) {
  constexpr std::size_t count = 1003;
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    RankInputs inputs(2, type, count);
    auto values = to_values(type, inputs.bytes(0));
    for (std::size_t i = 0; i < count; ++i)
      values[i] = i % 2 == 0 ? std::nan("") : std::ldexp(values[i], int(i % 240) - 120);
    inputs.mutable_bytes(0) = to_bytes(type, values);
    for (const auto* codec : {"exact", "sparse+exact", "thc"})
      expect_parts(codec, inputs, count, {.collective = ReductionKind::allgather},
                   expected_parts<AllgatherPlan>(codec, inputs, count, 2 * inputs.bytes(0).size()));
  }
}

TEST(Rounds, OfPartsMayBeInPlace) {
  constexpr std::size_t count = 1001;
  for (const ReductionKind collective : {ReductionKind::reduce_scatter, ReductionKind::allgather}) {
    const RankInputs inputs(3, ElementType::f32, 3 * count, 9);
    std::vector<Rounds> all;
    for (int rank = 0; rank < 3; ++rank)
      all.emplace_back("thc", count, ElementType::f32, rank, 3,
                       RoundsOptions{.collective = collective, .all_to_all = true});
    std::vector<Bytes> apart(3, Bytes(12 * count)), within;
    for (const bool in_place : {false, true}) {
      within.clear();
      for (std::size_t r = 0; r < 3; ++r) within.push_back(inputs.bytes(int(r)));
      for (std::size_t r = 0; r < 3; ++r) {
        const std::size_t own = collective == ReductionKind::allgather ? 4 * count * r : 0;
        all[r].begin(within[r].data() + own, in_place ? within[r].data() : apart[r].data(), 0);
      }
      run(all);
    }
    const std::size_t bytes = collective == ReductionKind::allgather ? 12 * count : 4 * count;
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_TRUE(same_bytes(std::span(within[r]).first(bytes), std::span(apart[r]).first(bytes)));
      EXPECT_TRUE(same_bytes(std::span(within[r]).subspan(bytes),
                             std::span(inputs.bytes(int(r))).subspan(bytes)));
    }
  }
}

/// Blocks that the payload has no numbers for make a round of their own, of unknown length.
TEST(Rounds, OutliersHaveARoundThatIsOnlyThereWithThem) {
  RankInputs inputs(3, ElementType::f32, 20'000, 8);
  for (const bool all_to_all : {false, true}) {
    std::set<std::string> names[2];
    for (const bool outlier : {false, true}) {
      if (outlier) {
        auto values = to_values(ElementType::f32, inputs.bytes(1));
        values[5000] = HUGE_VAL;
        inputs.mutable_bytes(1) = to_bytes(ElementType::f32, values);
      }
      const auto expected = expected_of("thc", inputs, ReduceOp::sum);
      auto all = rounds_of("thc", inputs, {.all_to_all = all_to_all});
      std::vector<Bytes> outputs(3, Bytes(inputs.bytes(0).size()));
      for (std::size_t r = 0; r < 3; ++r)
        all[r].begin(inputs.bytes(int(r)).data(), outputs[r].data(), 0);
      run(all, [&](const Steps& steps) { names[outlier].emplace(steps[0]->name); });
      for (const Bytes& output : outputs) EXPECT_TRUE(same_bytes(output, expected[0]));
    }
    EXPECT_GT(names[1].size(), names[0].size());
    inputs = RankInputs(3, ElementType::f32, 20'000, 8);
  }
}

/// Codes of norms lie on both sides of 2^31 where a block is zero on some ranks only.
TEST(Rounds, SignedMaximaAreThoseOfUnsignedNumbers) {
  RankInputs inputs(3, ElementType::f32, 4096, 14);
  std::fill_n(inputs.mutable_bytes(0).begin(), 8192, std::byte{0});
  std::fill_n(inputs.mutable_bytes(1).begin() + 8192, 8192, std::byte{0});
  const auto expected = expected_of("thc", inputs, ReduceOp::sum);
  auto all = rounds_of("thc", inputs, {.has_unsigned = false});
  std::vector<Bytes> outputs(3, Bytes(inputs.bytes(0).size()));
  for (std::size_t r = 0; r < 3; ++r)
    all[r].begin(inputs.bytes(int(r)).data(), outputs[r].data(), 0);
  run(all);
  for (const Bytes& output : outputs) EXPECT_TRUE(same_bytes(output, expected[0]));
}

/// With narrow contributions a rank sends less.
TEST(Rounds, AllToAllSendsLess) {
  const RankInputs inputs(4, ElementType::f32, 1 << 16, 9);
  std::map<bool, std::size_t> words;
  for (const bool all_to_all : {false, true}) {
    auto all = rounds_of("thc", inputs, {.all_to_all = all_to_all});
    std::vector<Bytes> outputs(4, Bytes(inputs.bytes(0).size()));
    for (std::size_t r = 0; r < 4; ++r)
      all[r].begin(inputs.bytes(int(r)).data(), outputs[r].data(), 0);
    run(all, [&](const Steps& steps) {
      // A ring's, and what is not for oneself.
      if (steps[0]->kind == Collective::all_reduce)
        words[all_to_all] += steps[0]->words.size() * 6 / 4;
      if (steps[0]->kind == Collective::all_to_all)
        words[all_to_all] += steps[0]->send.size() * 3 / 4;
      if (steps[0]->kind == Collective::all_gather) words[all_to_all] += steps[0]->send.size() * 3;
    });
  }
  EXPECT_LT(words[true], words[false] * 8 / 10);
}

std::vector<std::string> errors_of(std::vector<Rounds>& all,
                                   const std::function<void(const Steps&)>& change = nullptr) {
  std::vector<std::string> errors(all.size());
  while (true) {
    Steps steps;
    for (std::size_t r = 0; r < all.size(); ++r) try {
        steps.push_back(all[r].next());
      } catch (const Error& error) {
        errors[r] = std::string(name_of(error.kind())) + ": " + error.what();
      }
    if (steps.size() != all.size() || steps[0] == nullptr) return errors;
    if (change) change(steps);
    if (steps[0]->kind == Collective::all_reduce) {
      all_reduce(steps);
    } else {
      exchange(steps);
    }
  }
}

TEST(Rounds, WhatIsWrongOnOneRankIsAnErrorOnAll) {
  const RankInputs inputs(2, ElementType::f32, 100, 10);
  std::vector<Bytes> outputs(2, Bytes(400));
  const auto begin = [&](std::vector<Rounds>& all) {
    for (std::size_t r = 0; r < 2; ++r)
      all[r].begin(inputs.bytes(int(r)).data(), outputs[r].data(), 0);
  };
  auto all = rounds_of("thc", inputs, {});
  begin(all);
  all[1].begin(nullptr, outputs[1].data(), 0);
  auto errors = errors_of(all);
  EXPECT_EQ(errors[0],
            "invalid argument: another rank's arguments are wrong (invalid argument); it says how");
  EXPECT_NE(errors[1].find("input is null"), std::string::npos) << errors[1];

  begin(all);
  EXPECT_EQ(errors_of(all), std::vector<std::string>(2)) << "it can be begun again";

  all[1].begin(inputs.bytes(1).data(), outputs[1].data(), 7);
  all[0].begin(inputs.bytes(0).data(), outputs[0].data(), 8);
  EXPECT_EQ(errors_of(all)[0], "mismatch: ranks disagree about step; this one has 8");

  std::vector<Rounds> unlike;
  unlike.emplace_back("thc", 100, ElementType::f32, 0, 2);
  unlike.emplace_back("thc:bits=3", 100, ElementType::f32, 1, 2);
  begin(unlike);
  EXPECT_EQ(errors_of(unlike)[1], "mismatch: ranks disagree about codec; this one has thc:bits=3");
}

/// Lengths are read from words that others sent.
TEST(Rounds, OneCheckIsEnoughForWhoWantsIt) {
  const RankInputs inputs(3, ElementType::f32, 5000, 15);
  const auto expected = expected_of("thc", inputs, ReduceOp::sum);
  auto all = rounds_of("thc", inputs, {.checks_once = true});
  std::vector<Bytes> outputs(3, Bytes(inputs.bytes(0).size()));
  const auto begin = [&](std::size_t wrong) {
    for (std::size_t r = 0; r < 3; ++r)
      all[r].begin(inputs.bytes(int(r)).data(), r == wrong ? nullptr : outputs[r].data(), 0);
  };
  begin(1);  // a call that goes wrong is not the one
  for (const std::string& error : errors_of(all)) EXPECT_NE(error, "");
  std::size_t steps[2] = {};
  for (std::size_t& count : steps) {
    begin(3);
    count = run(all);
    for (const Bytes& output : outputs) EXPECT_TRUE(same_bytes(output, expected[0]));
  }
  EXPECT_EQ(steps[1], steps[0] - 1);
  begin(1);
  EXPECT_NE(all[0].next(), nullptr);
  EXPECT_THROW(all[1].next(), Error);
}

TEST(Rounds, LengthsThatNoRankCanSendAreAnError) {
  const RankInputs inputs(3, ElementType::f32, 5000, 11);
  for (const Collective kind : {Collective::all_to_all, Collective::all_gather}) {
    auto all = rounds_of("packed", inputs, {});
    std::vector<Bytes> outputs(3, Bytes(inputs.bytes(0).size()));
    for (std::size_t r = 0; r < 3; ++r)
      all[r].begin(inputs.bytes(int(r)).data(), outputs[r].data(), 0);
    std::vector<std::uint64_t> lies(3, std::uint64_t{1} << 40);
    std::vector<RoundStep> copies(3);
    const auto errors = errors_of(all, [&](const Steps& steps) {
      const bool lengths = std::ranges::all_of(steps, [&](const RoundStep* step) {
        return step->kind == kind &&
               std::ranges::all_of(step->receive_counts, [](std::size_t n) { return n == 1; });
      });
      if (lengths)  // they are this rank's own words, which it does not change behind our back
        for (const RoundStep* const step : steps)
          std::ranges::fill(
              std::span(const_cast<std::uint64_t*>(step->send.data()), step->send.size()),
              std::uint64_t{1} << 40);
    });
    for (const std::string& error : errors)
      EXPECT_NE(error.find("which has at most"), std::string::npos) << error;
  }
}

TEST(Rounds, WrongArgumentsOfTheConstructor) {
  const auto error_of = [](std::string_view codec, int rank, int ranks) -> std::string {
    try {
      const Rounds rounds(codec, 10, ElementType::f32, rank, ranks);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(error_of("thc", 0, 0), "ranks is 0; there should be one or more");
  EXPECT_EQ(error_of("thc", 2, 2), "rank is 2; it should be 0 to 1");
  EXPECT_NE(error_of("thx", 0, 2).find("did you mean thc"), std::string::npos);
}

TEST(Rounds, OfNoElements) {
  const RankInputs inputs(3, ElementType::f32, 0, 12);
  auto all = rounds_of("packed", inputs, {});
  for (Rounds& rank : all) rank.begin(nullptr, nullptr, 0);
  EXPECT_EQ(run(all), 1u);
}

/// The same object behind other names.
TEST(RoundsInC, HaveTheSameBitsAndErrors) {
  const RankInputs inputs(2, ElementType::f64, 3000, 13);
  const auto expected = expected_of("thc", inputs, ReduceOp::mean);
  cohom_rounds* ranks[2] = {};
  std::vector<Bytes> outputs(2, Bytes(inputs.bytes(0).size()));
  for (int r = 0; r < 2; ++r) {
    ASSERT_EQ(cohom_rounds_make("thc", 3000, COHOM_F64, r, 2, COHOM_ROUNDS_MEAN, &ranks[r]), 0);
    EXPECT_EQ(
        cohom_rounds_begin(ranks[r], inputs.bytes(r).data(), outputs[std::size_t(r)].data(), 0), 0);
    EXPECT_EQ(cohom_rounds_state(ranks[r], nullptr), 0u);
  }
  cohom_round_step steps[2] = {};
  while (cohom_rounds_next(ranks[0], &steps[0]) == 1) {
    ASSERT_EQ(cohom_rounds_next(ranks[1], &steps[1]), 1);
    ASSERT_EQ(steps[0].kind, COHOM_ALL_REDUCE);
    RoundStep of_cpp[2];
    for (int r = 0; r < 2; ++r) {
      of_cpp[r].operation = static_cast<MergeKind>(steps[r].operation);
      of_cpp[r].type = static_cast<StepNumbers>(steps[r].type);
      of_cpp[r].numbers = steps[r].numbers;
      const std::size_t bytes = steps[r].type == COHOM_U64 ? 8 : steps[r].type == COHOM_U32 ? 4 : 1;
      of_cpp[r].words = {steps[r].words, steps[r].numbers * bytes / 8};
    }
    all_reduce({&of_cpp[0], &of_cpp[1]});
  }
  EXPECT_EQ(cohom_rounds_next(ranks[1], &steps[1]), 0);
  for (const Bytes& output : outputs) EXPECT_TRUE(same_bytes(output, expected[0]));

  EXPECT_EQ(cohom_rounds_begin(ranks[0], nullptr, nullptr, 1), 0);
  EXPECT_EQ(cohom_rounds_next(ranks[0], nullptr), COHOM_INVALID_ARGUMENT);
  EXPECT_STREQ(cohom_rounds_error(ranks[0]), "step is null");
  for (cohom_rounds* const rank : ranks) cohom_rounds_free(rank);
  cohom_rounds* none = nullptr;
  EXPECT_EQ(cohom_rounds_make("thx", 1, COHOM_F32, 0, 1, 0, &none), COHOM_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  EXPECT_NE(std::string(cohom_rounds_error(nullptr)).find("did you mean thc"), std::string::npos);
  EXPECT_EQ(cohom_rounds_make("thc", 1, 4, 0, 1, 0, &none), COHOM_INVALID_ARGUMENT);
  EXPECT_STREQ(cohom_rounds_error(nullptr), "type is 4; it should be COHOM_F32, F16, BF16 or F64");
  EXPECT_EQ(cohom_rounds_make("thc", 1, COHOM_F32, 0, 1, 256, &none), COHOM_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace cohom::test
