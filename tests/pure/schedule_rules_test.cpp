// Each rule for a single schedule must be able to fail, and for its own reason.

#include "support/schedule_rules.hpp"

#include "support/schedule_edit.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

namespace cohom {
namespace {

using testing::build;
using testing::nth;
using testing::result_of_nth;

::testing::AssertionResult finds(const Schedule& schedule, std::string_view wanted) {
  std::string all;
  for (const std::string& problem : testing::check_rules(schedule)) {
    if (problem.find(wanted) != std::string::npos) return ::testing::AssertionSuccess();
    all += problem + "\n";
  }
  return ::testing::AssertionFailure() << "wanted \"" << wanted << "\", found:\n" << all;
}

TEST(ScheduleRules, IndicesMustExist) {
  auto schedule = build("tree", 0, 3);
  schedule.slots[0].buffer = schedule.buffers;
  EXPECT_TRUE(finds(schedule, "names a chunk or buffer that does not exist"));

  schedule = build("tree", 0, 3);
  schedule.slots[0].chunks = 1;
  EXPECT_TRUE(finds(schedule, "names a chunk or buffer that does not exist"));

  schedule = build("tree", 0, 3);
  nth(schedule, StepKind::encode).result = 100;
  EXPECT_TRUE(finds(schedule, "has a bad result"));

  schedule = build("tree", 0, 3);
  nth(schedule, StepKind::decode).result = 0;
  EXPECT_TRUE(finds(schedule, "has a bad result"));

  schedule = build("tree", 0, 3);
  schedule.sources.pop_back();
  EXPECT_TRUE(finds(schedule, "has sources outside the list"));

  schedule = build("tree", 0, 3);
  schedule.sources[0] = 100;
  EXPECT_TRUE(finds(schedule, "reads a slot that does not exist"));

  for (const int peer : {-1, 0, 3}) {
    schedule = build("tree", 0, 3);
    nth(schedule, StepKind::receive).peer = peer;
    EXPECT_TRUE(finds(schedule, "has a bad peer"));
  }
}

TEST(ScheduleRules, StepsMustHaveTheirNumberOfSources) {
  auto schedule = build("tree", 0, 3);
  nth(schedule, StepKind::send).source_count = 2;
  EXPECT_TRUE(finds(schedule, "has a bad number of sources"));

  schedule = build("tree", 0, 3);
  nth(schedule, StepKind::merge).source_count = 0;
  EXPECT_TRUE(finds(schedule, "has a bad number of sources"));

  schedule = build("tree", 0, 3);
  nth(schedule, StepKind::encode).source_count = 1;
  EXPECT_TRUE(finds(schedule, "has a bad number of sources"));
}

TEST(ScheduleRules, SlotsAreWrittenOnceAndThenRead) {
  auto schedule = build("tree", 0, 3);
  std::swap(schedule.steps[0], schedule.steps[2]);
  EXPECT_TRUE(finds(schedule, "reads a slot before it is written"));

  schedule = build("tree", 0, 3);
  nth(schedule, StepKind::receive, 1).result = nth(schedule, StepKind::receive, 0).result;
  EXPECT_TRUE(finds(schedule, "is not written exactly once"));

  schedule = build("tree", 0, 3);
  schedule.steps.pop_back();  // the decode is not the only reader: the sum was sent, too
  EXPECT_TRUE(finds(schedule, "is not decoded exactly once"));

  schedule = build("tree", 0, 1);
  schedule.steps.pop_back();
  EXPECT_TRUE(finds(schedule, "is never read"));
}

TEST(ScheduleRules, ChunksAreEncodedOnceAndDecodedOnce) {
  ScheduleBuilder builder(0, 1, 1);
  builder.decode(builder.encode(0, Form::wide));
  builder.decode(builder.encode(0, Form::wide));
  const Schedule schedule = std::move(builder).build();
  EXPECT_TRUE(finds(schedule, "is not encoded exactly once"));
  EXPECT_TRUE(finds(schedule, "is not decoded exactly once"));
}

TEST(ScheduleRules, MergesKeepChunkAndFormInOrder) {
  auto schedule = build("ring", 0, 3);
  result_of_nth(schedule, StepKind::merge, 1).chunks = 1;
  EXPECT_TRUE(finds(schedule, "merges across chunks"));

  schedule = build("direct", 0, 3);
  result_of_nth(schedule, StepKind::receive).form = Form::narrow;
  EXPECT_TRUE(finds(schedule, "merges across forms"));

  schedule = build("direct", 0, 3);
  result_of_nth(schedule, StepKind::receive).room = 4;
  EXPECT_TRUE(finds(schedule, "merges what has room for more contributions"));

  schedule = build("direct", 0, 3);
  result_of_nth(schedule, StepKind::merge).form = Form::narrow;
  EXPECT_TRUE(finds(schedule, "merges into a narrow slot"));
  EXPECT_TRUE(finds(schedule, "decodes a narrow slot"));

  ScheduleBuilder builder(0, 1, 1);
  builder.decode(builder.merge(std::array{builder.encode(0, Form::wide)}));
  EXPECT_TRUE(finds(std::move(builder).build(), "merges a single wide slot"));
}

TEST(ScheduleRules, JoinsTakeNeighboursOfOneKind) {
  auto schedule = build("recursive_halving", 0, 4);
  EXPECT_EQ(testing::check_rules(schedule), std::vector<std::string>{});
  Step& join = nth(schedule, StepKind::join);
  std::swap(testing::source(schedule, join, 0), testing::source(schedule, join, 1));
  EXPECT_TRUE(finds(schedule, "joins chunks that are no neighbours"));

  schedule = build("recursive_halving", 0, 4);
  result_of_nth(schedule, StepKind::join).chunks = {0, 3};
  EXPECT_TRUE(finds(schedule, "joins other chunks than it says"));

  schedule = build("recursive_halving", 0, 4);
  result_of_nth(schedule, StepKind::join).contributions = 3;
  EXPECT_TRUE(finds(schedule, "joins other forms, contributions or rooms"));

  schedule = build("recursive_halving", 0, 4);
  result_of_nth(schedule, StepKind::join).room = 5;
  EXPECT_TRUE(finds(schedule, "joins other forms, contributions or rooms"));
}

TEST(ScheduleRules, OffloadsKeepChunkAndFormAndAreWide) {
  auto schedule = build("offload", 0, 3);
  result_of_nth(schedule, StepKind::offload).form = Form::narrow;
  EXPECT_TRUE(finds(schedule, "offloads into another chunk or form"));

  schedule = build("fabric", 0, 3);
  result_of_nth(schedule, StepKind::encode).form = Form::narrow;
  EXPECT_TRUE(finds(schedule, "offloads a narrow slot"));
}

TEST(ScheduleRules, NothingNeededIsOverwritten) {
  auto schedule = build("tree", 0, 3);
  result_of_nth(schedule, StepKind::merge).buffer =
      result_of_nth(schedule, StepKind::encode).buffer;
  EXPECT_TRUE(finds(schedule, "overwrites a contribution"));

  // Rank 0 sends its first sum and would then overwrite it with the second.
  schedule = build("recursive_doubling", 0, 4);
  result_of_nth(schedule, StepKind::merge, 1).buffer =
      result_of_nth(schedule, StepKind::merge, 0).buffer;
  EXPECT_TRUE(finds(schedule, "overwrites a slot that other steps read"));

  schedule = build("ring", 0, 3);
  for (Slot& slot : schedule.slots) slot.buffer = 0;
  EXPECT_TRUE(finds(schedule, "changes the chunk, form or room of a buffer"));

  ScheduleBuilder builder(0, 3, 1);
  const auto mine = builder.encode(0, Form::wide);
  const std::array sources{mine, builder.receive(0, Form::wide, 1, 1, 0),
                           builder.receive(0, Form::wide, 1, 2, 0)};
  builder.decode(builder.merge(sources, sources[2]));
  EXPECT_TRUE(
      finds(std::move(builder).build(), "merges in place into a source that is still to be read"));
}

TEST(ScheduleRules, SequenceIdsAreSmallAndUsedOnce) {
  auto schedule = build("ring", 2, 3);
  nth(schedule, StepKind::send).sequence_id = testing::sequence_id_limit;
  EXPECT_TRUE(finds(schedule, "has too large a sequence id"));

  schedule = build("ring", 2, 3);
  nth(schedule, StepKind::send, 1).sequence_id = nth(schedule, StepKind::send, 0).sequence_id;
  EXPECT_TRUE(finds(schedule, "uses a sequence id again"));
}

}  // namespace
}  // namespace cohom
