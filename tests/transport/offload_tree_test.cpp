// Groups of more workers than one aggregator serves, over trees of aggregators: their workers are
// simulated.

#include "aggregation/protocol/merge_code.hpp"
#include "aggregator_kind.hpp"
#include "control_caller.hpp"
#include "job_keys.hpp"
#include "offload_switch.hpp"
#include "simulated_workers.hpp"
#include "word_merges.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cohom::offload {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;
using Words = std::vector<std::uint64_t>;

/// Connections take two descriptors each, as both ends are here. False: there are not enough.
bool has_descriptors(rlim_t wanted) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted) return true;
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < wanted) return false;
  limit.rlim_cur = wanted;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

Words words_of(std::uint32_t worker, std::uint32_t use) {
  std::mt19937_64 random(1000 * worker + use);
  Words words(3 + use);
  for (std::uint64_t& word : words) word = random();
  return words;
}

class OffloadTree : public testing::TestWithParam<test::AggregatorKind> {
 protected:
  /// An aggregator and so many workers that come to it.
  std::uint16_t add(std::uint32_t workers, std::uint16_t parent = 0) {
    switches_.push_back(std::make_unique<Switch>(GetParam().plane(16, 2), ServerLimits{}, parent));
    counts_.emplace_back(switches_.back()->port(), workers);
    workers_ += workers;
    return switches_.back()->port();
  }

  /// Who comes where has nothing to do with their numbers.
  void join() {
    std::vector<std::uint32_t> numbers(workers_);
    std::iota(numbers.begin(), numbers.end(), 0u);
    std::shuffle(numbers.begin(), numbers.end(), std::mt19937(7));
    std::span<const std::uint32_t> left(numbers);
    for (const auto& [port, count] : counts_) {
      branches_.push_back(
          std::make_unique<test::SimulatedWorkers>(port, job_, workers_, left.first(count)));
      left = left.subspan(count);
    }
  }
  void step() {
    for (auto& branch : branches_) branch->step();
  }
  bool step_until(const auto& condition) {
    for (const auto end = std::chrono::steady_clock::now() + 60s;
         std::chrono::steady_clock::now() < end;) {
      step();
      if (condition()) return true;
    }
    return false;
  }
  bool all_open() {
    for (const auto& branch : branches_)
      if (!branch->open()) return false;
    return true;
  }
  [[nodiscard]] Texts refusals() const {
    Texts all;
    for (const auto& branch : branches_)
      for (const std::string& text : branch->refusals()) all.push_back(text);
    return all;
  }

  void expect_sum(std::uint32_t use, MergeKind kind) {
    cohom_header header{};
    header.slot = static_cast<__u16>(use % 4);
    header.sequence = use / 4;
    header.merge = *merge_code({kind});
    header.call = use;
    Words sum = words_of(0, use);
    for (std::uint32_t worker = 1; worker < workers_; ++worker) {
      const Words words = words_of(worker, use);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = test::merged(kind, sum[i], words[i]);
    }
    for (auto& branch : branches_)
      branch->contribute(header, [&](std::uint32_t worker) { return words_of(worker, use); });
    auto repeated = std::chrono::steady_clock::now();
    const auto have_it = [&] {
      std::size_t count = 0;
      for (const auto& branch : branches_) count += branch->count_of(sum);
      return count;
    };
    EXPECT_TRUE(step_until([&] {
      if (have_it() == workers_) return true;
      if (!GetParam().messages && std::chrono::steady_clock::now() - repeated > 300ms) {
        for (auto& branch : branches_) branch->repeat(header);  // packets may be lost
        repeated = std::chrono::steady_clock::now();
      }
      return false;
    })) << have_it()
        << " of " << workers_ << " have the sum of use " << use;
  }

  const JobKey job_ = test::job(1);
  std::vector<std::unique_ptr<Switch>> switches_;
  std::vector<std::pair<std::uint16_t, std::uint32_t>> counts_;  ///< workers by port
  std::uint32_t workers_ = 0;
  std::vector<std::unique_ptr<test::SimulatedWorkers>> branches_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, OffloadTree, testing::ValuesIn(test::aggregator_kinds()),
                         [](const auto& kind) { return kind.param.name; });

/// A root with 4 middle aggregators, and 16 leaves of 64 workers and fewer; workers on every level.
TEST_P(OffloadTree, Sums1024WorkersOverThreeLevels) {
  if (!has_descriptors(4096)) GTEST_SKIP() << "this system lets a process have too few descriptors";
  const std::uint16_t root = add(4);
  for (int middle = 0; middle < 4; ++middle) {
    const std::uint16_t port = add(7, root);
    for (int leaf = 0; leaf < 4; ++leaf) add(middle + leaf == 6 ? 32 : 64, port);
  }
  ASSERT_EQ(workers_, 1024u);
  join();
  ASSERT_TRUE(step_until([&] { return all_open() || !refusals().empty(); }));
  ASSERT_EQ(refusals(), Texts{});
  const auto group = switches_[0]->status()["groups"][0];
  EXPECT_EQ(group["workers"], 1024);
  EXPECT_EQ(group["joined"], 1024);
  std::uint32_t use = 0;
  for (const MergeKind kind : test::word_merges) expect_sum(use++, kind);
  // Its own workers and the four aggregators below it.
  EXPECT_EQ(switches_[0]->status()["groups"][0]["contributions"], 8 * use);
}

/// Its members are bits of a word. All of them hear what to do, and others are served.
TEST_P(OffloadTree, AnAggregatorServes64MembersOfAGroup) {
  const std::uint16_t port = add(65);
  join();
  ASSERT_TRUE(step_until([&] { return refusals().size() == workers_; }));
  for (const std::string& text : refusals())
    EXPECT_EQ(text,
              "not supported: more than 64 members of a group have come to one aggregator; groups "
              "of more workers need leaves (--parent) that these come to");
  EXPECT_TRUE(switches_[0]->status()["groups"].empty());
  branches_.clear();
  counts_ = {{port, workers_ = 64}};
  join();
  ASSERT_TRUE(step_until([&] { return all_open() || !refusals().empty(); }));
  ASSERT_EQ(refusals(), Texts{});
  expect_sum(0, MergeKind::add);
}

/// A leaf is one of them, whatever it stands for.
TEST_P(OffloadTree, ALeafIsOneMember) {
  const std::uint16_t root = add(63);
  add(64, root);
  join();
  ASSERT_TRUE(step_until([&] { return all_open() || !refusals().empty(); }));
  ASSERT_EQ(refusals(), Texts{});
  expect_sum(0, MergeKind::add);
}

}  // namespace
}  // namespace cohom::offload
