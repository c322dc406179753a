// The checker that proves the algorithms must itself be able to fail.

#include "support/symbolic_checker.hpp"

#include "support/schedule_edit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace cohom {
namespace {

using testing::build_all;
using testing::check_schedules;
using testing::nth;
using testing::source;

::testing::AssertionResult finds(const std::vector<Schedule>& schedules, std::string_view wanted) {
  std::string all;
  for (const std::string& problem : check_schedules(schedules, 2)) {
    if (problem.find(wanted) != std::string::npos) return ::testing::AssertionSuccess();
    all += problem + "\n";
  }
  return ::testing::AssertionFailure() << "wanted \"" << wanted << "\", found:\n" << all;
}

/// Calls `damage` on every step of every rank of every algorithm, each time on sound schedules;
/// where it returns true, the checker must find something.
template <class Damage>
void expect_each_found(Damage damage) {
  int damaged = 0;
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    for (const int ranks : {2, 4, 5}) {
      const auto sound = build_all(algorithm, ranks, true, false, true);
      ASSERT_TRUE(check_schedules(sound, 2).empty());
      for (std::size_t rank = 0; rank < sound.size(); ++rank) {
        for (std::size_t step = 0; step < sound[rank].steps.size(); ++step) {
          auto schedules = sound;
          if (!damage(schedules[rank], step)) continue;
          ++damaged;
          EXPECT_FALSE(check_schedules(schedules, 2).empty())
              << algorithm.name << ", rank " << rank << ", step " << step;
        }
      }
    }
  }
  EXPECT_GT(damaged, 0);
}

TEST(SymbolicChecker, FindsEveryDroppedStep) {
  expect_each_found([](Schedule& schedule, std::size_t step) {
    schedule.steps.erase(schedule.steps.begin() + static_cast<std::ptrdiff_t>(step));
    return true;
  });
}

TEST(SymbolicChecker, FindsEveryRepeatedStep) {
  expect_each_found([](Schedule& schedule, std::size_t step) {
    const Step repeated = schedule.steps[step];
    schedule.steps.insert(schedule.steps.begin() + static_cast<std::ptrdiff_t>(step), repeated);
    return true;
  });
}

TEST(SymbolicChecker, FindsEveryWrongSequenceAndPeer) {
  expect_each_found([](Schedule& schedule, std::size_t step) {
    schedule.steps[step].sequence_id += 1000;
    return schedule.steps[step].peer >= 0;
  });
  expect_each_found([](Schedule& schedule, std::size_t step) {
    auto& peer = schedule.steps[step].peer;
    peer = (peer + 1) % schedule.ranks;
    return schedule.steps[step].peer >= 0 && schedule.steps[step].kind == StepKind::send;
  });
}

TEST(SymbolicChecker, FindsEveryContributionMergedTwice) {
  expect_each_found([](Schedule& schedule, std::size_t step) {
    const Step& merge = schedule.steps[step];
    if (merge.kind != StepKind::merge || merge.source_count == 1) return false;
    source(schedule, merge, 1) = source(schedule, merge, 0);
    return true;
  });
}

TEST(SymbolicChecker, FindsEveryWrongNumberOfContributions) {
  expect_each_found([](Schedule& schedule, std::size_t step) {
    if (schedule.steps[step].result == Step::no_slot) return false;
    ++schedule.slots[schedule.steps[step].result].contributions;
    return true;
  });
}

TEST(SymbolicChecker, FindsEveryOverwrittenContribution) {
  expect_each_found([](Schedule& schedule, std::size_t step) {
    const Step& merge = schedule.steps[step];
    if (merge.kind != StepKind::merge) return false;
    for (const auto slot : schedule.sources_of(merge)) {
      const Step& writer = *std::ranges::find(schedule.steps, slot, &Step::result);
      if (writer.kind != StepKind::encode) continue;
      schedule.slots[merge.result].buffer = schedule.slots[slot].buffer;
      return true;
    }
    return false;
  });
}

/// Two ranks send each other their contribution `copies` times and merge all they have.
std::vector<Schedule> swap_contributions(std::uint32_t copies) {
  std::vector<Schedule> schedules;
  for (const int rank : {0, 1}) {
    ScheduleBuilder builder(rank, 2, 1);
    std::vector sources{builder.encode(0, Form::wide)};
    for (std::uint32_t copy = 0; copy < copies; ++copy) {
      builder.send(sources.front(), 1 - rank, copy);
      sources.push_back(builder.receive(0, Form::wide, 1, 1 - rank, copy));
    }
    if (rank == 1) std::ranges::reverse(sources);
    builder.decode(copies == 0 ? sources.front() : builder.merge(sources));
    schedules.push_back(std::move(builder).build());
  }
  return schedules;
}

TEST(SymbolicChecker, NamesBrokenMessages) {
  auto schedules = build_all("ring", 3);
  nth(schedules[2], StepKind::send).sequence_id = 77;
  EXPECT_TRUE(finds(schedules, "sends what nobody receives"));
  EXPECT_TRUE(finds(schedules, "receives what nobody sends"));

  schedules = build_all("direct", 3);
  schedules[0].slots[0].form = Form::narrow;
  EXPECT_TRUE(finds(schedules, "sends another slot than its receiver expects"));

  schedules = build_all("ring", 3);
  schedules[2] = schedules[1];
  EXPECT_TRUE(finds(schedules, "has a schedule for something else"));
}

TEST(SymbolicChecker, NamesWrongSums) {
  EXPECT_TRUE(check_schedules(swap_contributions(1), 2).empty());
  EXPECT_TRUE(finds(swap_contributions(0), "decodes an unfinished sum"));
  EXPECT_TRUE(finds(swap_contributions(2), "holds a contribution twice"));

  auto schedules = swap_contributions(1);
  ++schedules[1].slots[nth(schedules[1], StepKind::merge).result].contributions;
  EXPECT_TRUE(finds(schedules, "does not hold as many contributions as it declares"));
}

TEST(SymbolicChecker, FindsRanksThatMergeInDifferentOrders) {
  auto schedules = build_all("recursive_doubling", 4);
  const Step& merge = nth(schedules[2], StepKind::merge, 1);
  std::swap(source(schedules[2], merge, 0), source(schedules[2], merge, 1));
  EXPECT_TRUE(finds(schedules, "in another order than others"));
}

/// Two ranks swap both chunks; rank 1 opens the receive of `first_at_rank_1` first.
std::vector<Schedule> swap_chunks(std::uint32_t first_at_rank_1) {
  std::vector<Schedule> schedules;
  for (const int rank : {0, 1}) {
    ScheduleBuilder builder(rank, 2, 2);
    std::array<std::uint32_t, 2> mine{}, received{};
    for (const std::uint32_t chunk : {0u, 1u}) {
      mine[chunk] = builder.encode(chunk, Form::wide);
      builder.send(mine[chunk], 1 - rank, chunk);
    }
    const std::uint32_t first = rank == 0 ? 0 : first_at_rank_1;
    for (const auto chunk : {first, 1 - first})
      received[chunk] = builder.receive(chunk, Form::wide, 1, 1 - rank, chunk);
    for (const std::uint32_t chunk : {0u, 1u}) {
      std::array sources{mine[chunk], received[chunk]};
      if (rank == 1) std::swap(sources[0], sources[1]);
      builder.decode(builder.merge(sources));
    }
    schedules.push_back(std::move(builder).build());
  }
  return schedules;
}

TEST(SymbolicChecker, FindsSendsAndReceivesInDifferentOrders) {
  EXPECT_TRUE(check_schedules(swap_chunks(0), 2).empty());
  EXPECT_TRUE(finds(swap_chunks(1), "hangs when steps run one by one"));
}

TEST(SymbolicChecker, FindsRanksThatWaitForEachOther) {
  std::vector<Schedule> schedules;
  for (const int rank : {0, 1}) {
    ScheduleBuilder builder(rank, 2, 1);
    const auto received = builder.receive(0, Form::wide, 1, 1 - rank, 0);
    builder.send(received, 1 - rank, 0);
    builder.decode(builder.merge(std::array{builder.encode(0, Form::wide), received}));
    schedules.push_back(std::move(builder).build());
  }
  EXPECT_TRUE(finds(schedules, "hangs when steps run when ready"));
}

}  // namespace
}  // namespace cohom
