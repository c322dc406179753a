// What a plan asks of the codec that it takes.

#include "plan/plan_codec.hpp"
#include "base/tags.hpp"
#include "kernels/table/kernel_table.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

namespace cohom::test {
namespace {

class NumberRound final : public Round {
 public:
  explicit NumberRound(RoundTime time)
      : Round({.name = "number",
               .merge = {MergeKind::max},
               .time = time,
               .scope = RoundScope::vector}) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t) const override { return 1; }
  std::size_t encode(std::size_t, const Piece&, Payload) override { return 1; }
  void decode(const Piece&, ConstPayload, std::size_t) override {}
};

/// A payload, and rounds before it.
class ManyRounds final : public Codec {
 public:
  explicit ManyRounds(int count) {
    for (int r = 0; r < count; ++r)
      add(rounds_.emplace_back(r + 1 < count ? RoundTime::before_payload : RoundTime::payload));
  }
  [[nodiscard]] std::size_t block() const override { return 16; }

 private:
  std::deque<NumberRound> rounds_;
};

template <int rounds>
std::unique_ptr<Codec> make_rounds(const CodecContext&) {
  return std::make_unique<ManyRounds>(rounds);
}

template <int rounds>
std::unique_ptr<Codec> take() {
  const CodecRow row{.info = {"many", "a codec with many rounds", {}}, .make = make_rounds<rounds>};
  return PlanCodec(row, {.ranks = 2, .kernels = kernels::kernel_table()}).make();
}

TEST(PlanCodec, TakesAsManyRoundsAsTagsCanTellApart) {
  EXPECT_EQ(take<max_rounds>()->rounds().size(), std::size_t{max_rounds});
}

TEST(PlanCodec, RefusesOneRoundMore) {
  try {
    (void)take<max_rounds + 1>();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_STREQ(error.what(),
                 "codec many has 16 rounds; at most 15 are supported, as messages carry a round's "
                 "number");
  }
}

}  // namespace
}  // namespace cohom::test
