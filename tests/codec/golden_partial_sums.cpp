// Partial sums of codecs that grow: they add up to what all contributions make at once, whatever
// their widths, and their bits are pinned. A difference means that ranks built before and after the
// change cannot talk to each other: it takes a new wire_format_version, not new numbers here.

#include "codec_harness.hpp"
#include "codecs/codec_table.hpp"
#include "golden.hpp"
#include "plan/spec.hpp"
#include "tested_tables.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

using WordVector = std::vector<std::uint64_t>;

struct PartialCase {
  const char* spec;
  std::size_t elements;
  std::uint64_t first_two;  ///< hash of the partial sum of ranks 0 and 1

  friend void PrintTo(const PartialCase& c, std::ostream* out) { *out << c.spec; }
};

constexpr int ranks = 7;

/// The payload's round of one rank's codec, with all ranks' contributions to the only piece.
class PartialSums {
 public:
  PartialSums(const PartialCase& c, const kernels::KernelTable& table)
      : piece_{0, c.elements, 0}, harness_(setup_of(c, table)) {
    std::vector<Bytes> inputs;
    for (int rank = 0; rank < ranks; ++rank)
      inputs.push_back(to_bytes(ElementType::f32, golden_input(rank, c.elements)));
    harness_.allreduce(inputs, 5);
    const auto rounds = harness_.codec(0).rounds();
    while (rounds[number_]->traits().time != RoundTime::payload) ++number_;
    round_ = rounds[number_];
  }

  [[nodiscard]] Round& round() const { return *round_; }
  [[nodiscard]] const WordVector& sum() const { return harness_.sum(int(number_)); }
  [[nodiscard]] WordVector promote(int first, int count, std::size_t room) const {
    std::vector<ConstPayload> contributions;
    for (int rank = first; rank < first + count; ++rank)
      contributions.emplace_back(harness_.contribution(int(number_), rank));
    WordVector sum(round_->capacity(room, piece_.count), 0x5a5a5a5a5a5a5a5au);
    EXPECT_EQ(round_->promote(piece_, contributions, room, sum), sum.size());
    return sum;
  }
  struct Part {
    WordVector words;
    std::size_t room;
  };
  [[nodiscard]] WordVector widen(const std::vector<Part>& parts, std::size_t room) const {
    std::vector<PartialSum> sources;
    for (const Part& part : parts) sources.push_back({part.words, part.room});
    WordVector sum(round_->capacity(room, piece_.count), 0x5a5a5a5a5a5a5a5au);
    EXPECT_EQ(round_->widen(piece_, sources, room, sum), sum.size());
    return sum;
  }

 private:
  static HarnessSetup setup_of(const PartialCase& c, const kernels::KernelTable& table) {
    const Spec spec = parse_spec(c.spec);
    return {.make = find_codec(spec.name).make,
            .ranks = ranks,
            .parameters = spec.parameters,
            .chunks = 1,
            .segment = c.elements,
            .kernels = &table};
  }

  Piece piece_;
  CodecHarness harness_;
  std::size_t number_ = 0;
  Round* round_ = nullptr;
};

class GoldenPartialSums : public testing::TestWithParam<std::tuple<TestedTable, PartialCase>> {};

TEST_P(GoldenPartialSums, AddUpAndAreTheSameBits) {
  const auto& [tested, c] = GetParam();
  const PartialSums sums(c, *tested.table);
  ASSERT_TRUE(sums.round().traits().grows);
  const auto two = sums.promote(0, 2, 2), one = sums.promote(2, 1, 1), four = sums.promote(3, 4, 4);
  EXPECT_LE(two.size(), sums.sum().size());  // 16 values have two words in either width
  if (c.elements > 500) EXPECT_LT(two.size(), sums.sum().size());
  EXPECT_EQ(sums.widen({{two, 2}, {one, 1}, {four, 4}}, ranks), sums.sum());
  const auto three = sums.widen({{two, 2}, {one, 1}}, 3);
  EXPECT_EQ(three, sums.promote(0, 3, 3));
  EXPECT_EQ(sums.widen({{four, 4}, {three, 3}}, ranks), sums.sum());
  EXPECT_EQ(sums.promote(0, 2, ranks), sums.widen({{two, 2}}, ranks)) << "with more room at once";
  EXPECT_EQ(hash_of(two), c.first_two) << std::hex << hash_of(two);
}

constexpr PartialCase cases[] = {
    {"thc", 4900, 0x73b6e40fcb6a705bu},
    {"thc:levels=full", 4900, 0x3cc76433306136dcu},
    {"thc:lane=16", 4900, 0x73b6e40fcb6a705bu},
    {"thc:rotation=16", 500, 0x74c9970fe5527eb1u},
    {"thc:rotation=1024,bits=6,granularity=100", 4900, 0x68acd59ef29b340du},
    {"signcount", 4900, 0x01861250e0cbba58u},
};

INSTANTIATE_TEST_SUITE_P(Tables, GoldenPartialSums,
                         testing::Combine(testing::ValuesIn(tested_tables()),
                                          testing::ValuesIn(cases)),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_" + std::to_string(test.index);
                         });

}  // namespace
}  // namespace cohom::test
