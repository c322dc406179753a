// The table behind algorithm=auto.

#include "plan/selector.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace cohom::test {
namespace {

constexpr std::size_t kib = 1024;

struct Choice {
  std::string algorithm;
  bool bypass = false;
  friend bool operator==(const Choice&, const Choice&) = default;
};

void PrintTo(const Choice& choice, std::ostream* out) {
  *out << choice.algorithm << (choice.bypass ? ", bypassing the codec" : "");
}

Choice choose(std::string_view codec, std::size_t bytes, int ranks, bool aggregator = false,
              std::uint32_t nodes = 0) {
  const Selection selection = select_algorithm("auto", {codec, bytes, ranks, nodes, aggregator});
  EXPECT_FALSE(selection.reason.empty());
  return {std::string(selection.algorithm->name), selection.bypass};
}

TEST(Selector, SmallVectorsGoRaw) {
  EXPECT_EQ(choose("thc", 0, 4), (Choice{"recursive_doubling", true}));
  EXPECT_EQ(choose("thc", 16 * kib, 4), (Choice{"recursive_doubling", true}));
  EXPECT_EQ(choose("thc", 16 * kib + 1, 4), (Choice{"direct"}));
  EXPECT_EQ(choose("raw", 16 * kib, 100), (Choice{"recursive_doubling"})) << "nothing to bypass";
}

/// Blocks of 256 f32 elements, one a rank, take 1 KiB a rank.
TEST(Selector, VectorsWithoutABlockARankGoRaw) {
  for (const int ranks : {17, 20, 63}) {
    const std::size_t a_block_each = std::size_t(ranks) * kib;
    EXPECT_EQ(choose("thc", a_block_each - 1, ranks), (Choice{"recursive_doubling", true}));
    EXPECT_EQ(choose("thc", a_block_each, ranks), (Choice{"mixed_radix"})) << ranks;
    EXPECT_EQ(choose("raw", a_block_each - 1, ranks), (Choice{"recursive_doubling"}));
  }
  EXPECT_EQ(choose("thc", 16 * kib + 1, 16), (Choice{"direct"})) << "no fewer than before";
}

/// Where each rank is on a node of its own.
TEST(Selector, VeryManyRanksWithFewBytesHalve) {
  for (const char* codec : {"thc", "packed", "raw"})
    for (const int ranks : {1024, 2048, 8192}) {
      const std::size_t a_kib_each = std::size_t(ranks) * kib;
      EXPECT_EQ(choose(codec, a_kib_each - 1, ranks), (Choice{"recursive_halving"}));
      EXPECT_EQ(choose(codec, a_kib_each, ranks), (Choice{"mixed_radix"}));
      EXPECT_EQ(choose(codec, a_kib_each - 1, ranks, false, std::uint32_t(ranks) / 8),
                (Choice{"mixed_radix"}));
    }
  EXPECT_EQ(choose("thc", 1023 * kib - 1, 1023), (Choice{"mixed_radix"}));
}

TEST(Selector, TheBypassOfManyRanksIsBounded) {
  for (const int ranks : {65, 1024, 32768}) {
    EXPECT_EQ(choose("thc", 64 * kib, ranks), (Choice{"recursive_doubling", true})) << ranks;
    EXPECT_EQ(choose("thc", 64 * kib + 1, ranks),
              (Choice{ranks < 1024 ? "mixed_radix" : "recursive_halving"}))
        << ranks;
  }
}

TEST(Selector, RanksDecideAboutLargeOnes) {
  EXPECT_EQ(choose("thc", 64 << 20, 16), (Choice{"direct"}));
  EXPECT_EQ(choose("thc", 64 << 20, 17), (Choice{"direct"})) << "messages are long";
  EXPECT_EQ(choose("thc", 64 << 20, 257), (Choice{"mixed_radix"}));
  EXPECT_EQ(choose("raw", 4096 * kib, 16), (Choice{"direct"}));
  EXPECT_EQ(choose("raw", 4096 * kib + 1, 16), (Choice{"ring"}));
  EXPECT_EQ(choose("raw", 256 * kib, 17), (Choice{"mixed_radix"}));
  EXPECT_EQ(choose("raw", 64 << 20, 17), (Choice{"ring"}));
}

TEST(Selector, RanksThatShareNodesSumThereFirst) {
  EXPECT_EQ(choose("thc", 64 << 20, 8, false, 4), (Choice{"mixed_radix"}));
  EXPECT_EQ(choose("thc", 64 << 20, 8, false, 8), (Choice{"direct"}));
  EXPECT_EQ(choose("thc", 64 << 20, 8, false, 1), (Choice{"direct"})) << "one node";
  EXPECT_EQ(choose("thc", 16 * kib, 8, false, 4), (Choice{"recursive_doubling", true}));
  EXPECT_EQ(choose("thc", 64 << 20, 8, true, 4), (Choice{"offload"}));
  EXPECT_EQ(choose("raw", 1 << 20, 8, false, 4), (Choice{"mixed_radix"}));
  EXPECT_EQ(choose("raw", 64 << 20, 8, false, 4), (Choice{"ring"})) << "crosses each link once";
  EXPECT_EQ(choose("raw", 16 << 20, 512, false, 64), (Choice{"ring"})) << "32 KiB a rank";
  EXPECT_EQ(choose("raw", (16 << 20) - 512, 512, false, 64), (Choice{"mixed_radix"}));
}

/// What a race may take instead.
TEST(Selector, SomeHaveAThirdWay) {
  const auto third = [](std::string_view codec, std::size_t bytes, int ranks,
                        std::uint32_t nodes = 0) {
    const Selection selection = select_algorithm("auto", {codec, bytes, ranks, nodes});
    return selection.third != nullptr ? selection.third->name : "none";
  };
  EXPECT_EQ(third("thc", 16 * kib, 4), "recursive_doubling") << "compressed";
  EXPECT_EQ(third("raw", 16 * kib, 4), "none") << "nothing to compress";
  EXPECT_EQ(third("thc", 1024 * kib, 4), "recursive_halving");
  EXPECT_EQ(third("thc", 1024 * kib, 2), "recursive_doubling") << "one exchange";
  EXPECT_EQ(third("thc", 1024 * kib + 1, 4), "none");
  EXPECT_EQ(third("thc", 1024 * kib, 8, 4), "recursive_doubling");
  EXPECT_EQ(third("signcount", 1024 * kib, 4), "recursive_doubling") << "few bits an element";
  EXPECT_EQ(third("signcount", 1024 * kib, 9), "recursive_halving");
  EXPECT_EQ(third("raw", 1024 * kib, 8, 4), "none");
  EXPECT_EQ(third("raw", 4096 * kib + 1, 8, 4), "mixed_radix");
  EXPECT_EQ(third("raw", 64 << 20, 8, 4), "mixed_radix");
  EXPECT_EQ(third("raw", (64 << 20) + 1, 8, 4), "none") << "for its workspace's sake";
  EXPECT_EQ(select_algorithm("direct", {"thc", 1024 * kib, 4}).third, nullptr) << "asked for";
}

/// Few ranks on several nodes: the vector may travel with the agreement.
TEST(Selector, OneExchangeOfTwoRanksIsEnough) {
  const std::size_t most = 256 * kib;
  EXPECT_EQ(choose("raw", most, 2), (Choice{"recursive_doubling"}));
  EXPECT_EQ(choose("raw", most, 2, false, 1), (Choice{"direct"})) << "one node";
  EXPECT_EQ(choose("raw", most + 1, 2), (Choice{"direct"}));
  EXPECT_EQ(choose("raw", 64 * kib, 4, false, 2), (Choice{"mixed_radix"}));
  EXPECT_EQ(select_algorithm("auto", {.codec = "raw", .bytes = most, .ranks = 2}).third, nullptr);
  EXPECT_EQ(
      select_algorithm("auto", {.codec = "raw", .bytes = most, .ranks = 2, .allreduce = false})
          .algorithm->name,
      "direct")
      << "a part of the vector is enough";
  struct Case {
    std::string_view codec;
    std::size_t bytes;
    int ranks;
    std::uint32_t nodes;
    bool raw;
  };
  for (const Case& one :
       {Case{"thc", most, 2, 2, true}, Case{"thc", most + 1, 2, 2, false},
        Case{"thc", most, 2, 1, false}, Case{"thc", 64 * kib, 4, 2, true},
        Case{"thc", 64 * kib + 1, 4, 2, false}, Case{"thc", 64 * kib, 4, 4, false},
        Case{"thc", 64 * kib, 3, 2, false}, Case{"thc", 16 * kib, 2, 2, false}}) {
    const Selection selection =
        select_algorithm("auto", {one.codec, one.bytes, one.ranks, one.nodes});
    ASSERT_NE(selection.third, nullptr);
    EXPECT_EQ(selection.third_bypass, one.raw) << one.bytes << " bytes, " << one.ranks << " ranks";
    if (one.raw) EXPECT_EQ(selection.third->name, "recursive_doubling");
  }
  const Selection of_raw =
      select_algorithm("auto", {.codec = "raw", .bytes = 64 * kib, .ranks = 4, .nodes = 2});
  ASSERT_NE(of_raw.third, nullptr);
  EXPECT_EQ(of_raw.third->name, "recursive_doubling");
  EXPECT_FALSE(of_raw.third_bypass) << "there is nothing to bypass";
}

/// Where a codec may be bypassed.
TEST(Selector, FewRanksOfANodeReadEachOthersVectors) {
  const auto chosen = [](SelectionInput input) {
    input.nodes = 1;
    const Selection selection = select_algorithm("auto", input);
    return Choice{std::string(selection.algorithm->name), selection.bypass};
  };
  const std::size_t most = 256 * kib;
  for (const int ranks : {2, 3, 4}) {
    EXPECT_EQ(chosen({.codec = "thc", .bytes = most, .ranks = ranks, .on_board = true}),
              (Choice{"recursive_doubling", true}));
    EXPECT_EQ(chosen({.codec = "raw", .bytes = most, .ranks = ranks, .on_board = true}),
              (Choice{"recursive_doubling"}));
  }
  EXPECT_EQ(chosen({.codec = "thc", .bytes = most + 1, .ranks = 4, .on_board = true}),
            (Choice{"direct"}));
  EXPECT_EQ(chosen({.codec = "thc", .bytes = most, .ranks = 5, .on_board = true}),
            (Choice{"direct"}));
  EXPECT_EQ(chosen({.codec = "thc", .bytes = most, .ranks = 4}), (Choice{"direct"}));
  EXPECT_EQ(
      chosen({.codec = "thc", .bytes = most, .ranks = 4, .on_board = true, .allreduce = false}),
      (Choice{"direct"}))
      << "a part of the vector is enough";
  EXPECT_EQ(
      chosen({.codec = "thc", .bytes = most, .ranks = 4, .aggregator = true, .on_board = true}),
      (Choice{"offload"}))
      << "somebody attached it";
}

TEST(Selector, OneRankHasNothingToCompressFor) {
  EXPECT_EQ(choose("thc", 64 << 20, 1), (Choice{"direct", true}));
  EXPECT_EQ(choose("raw", std::numeric_limits<std::size_t>::max(), 1), (Choice{"direct"}));
}

TEST(Selector, AnAttachedAggregatorTakesWhatIsNotSmall) {
  EXPECT_EQ(choose("thc", 16 * kib, 4, true), (Choice{"recursive_doubling", true}));
  EXPECT_EQ(choose("thc", 16 * kib + 1, 4, true), (Choice{"offload"}));
  EXPECT_EQ(choose("thc", 16 * kib + 1, 1024, true), (Choice{"offload"})) << "ranks own nothing";
  EXPECT_EQ(choose("raw", 64 << 20, 100, true), (Choice{"offload"}));
  EXPECT_EQ(choose("thc", 64 << 20, 1, true), (Choice{"direct", true})) << "nothing travels";
}

int many_ranks(const SelectionRow& row) {
  return std::min(row.max_ranks, std::max(row.min_ranks, 1000));
}

std::size_t largest_of(const SelectionRow& row) {
  const auto ranks = static_cast<std::size_t>(many_ranks(row));
  if (row.max_bytes_a_rank >= row.max_bytes / ranks) return row.max_bytes;
  return row.max_bytes_a_rank * ranks;
}

/// A row nobody reaches, an algorithm that does not exist, a call without a row: defects of the
/// table.
TEST(Selector, EveryRowIsUsedAndEveryCallHasOne) {
  for (const SelectionRow& row : selection_table()) {
    ASSERT_NE(find_algorithm(row.algorithm), nullptr) << row.algorithm;
    const SelectionInput input{.codec = row.codec.empty() ? "thc" : row.codec,
                               .bytes = largest_of(row),
                               .ranks = many_ranks(row),
                               .nodes = row.several_a_node ? 2u : 0u,
                               .aggregator = row.offloads,
                               .on_board = row.on_board};
    const Selection selection = select_algorithm("auto", input);
    EXPECT_EQ(selection.algorithm->name, row.algorithm);
    EXPECT_EQ(selection.reason, row.reason);
    ASSERT_EQ(selection.third != nullptr, !row.third.empty()) << row.third;
    if (selection.third != nullptr) EXPECT_EQ(selection.third->name, row.third);
  }
  for (std::size_t bytes : {std::size_t{0}, 100 * kib, std::numeric_limits<std::size_t>::max()})
    for (int ranks : {1, 2, 16, 17, std::numeric_limits<int>::max()})
      for (const char* codec : {"raw", "thc", "a codec of the future"})
        EXPECT_NO_THROW((void)select_algorithm("auto", {codec, bytes, ranks}));
}

TEST(Selector, WhatIsAskedForIsTaken) {
  for (const AlgorithmRow& row : algorithm_table()) {
    const Selection selection =
        select_algorithm(row.name, {.codec = "thc", .bytes = 4, .ranks = 100});
    EXPECT_EQ(selection.algorithm, &row);
    EXPECT_FALSE(selection.bypass) << "asking for an algorithm keeps the codec";
  }
}

TEST(Selector, UnknownAlgorithmsNameTheNearestAndAll) {
  try {
    (void)select_algorithm("three", {.codec = "thc", .bytes = 4, .ranks = 2});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    const std::string text = error.what();
    EXPECT_NE(text.find("did you mean tree;"), std::string::npos) << text;
    EXPECT_NE(text.find("auto, "), std::string::npos) << text;
    for (const AlgorithmRow& row : algorithm_table())
      EXPECT_NE(text.find(row.name), std::string::npos) << "not listed: " << row.name;
  }
}

}  // namespace
}  // namespace cohom::test
