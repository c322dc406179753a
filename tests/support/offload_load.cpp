#include "offload_load.hpp"

#include "word_merges.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace cohom::test {

namespace {

using Clock = std::chrono::steady_clock;
using Words = std::vector<std::uint64_t>;

/// By round; the second has most of the words.
constexpr std::array kinds{MergeKind::max, MergeKind::add, MergeKind::bit_or, MergeKind::max8,
                           MergeKind::max16};

struct Place {
  std::uint64_t call;
  std::uint64_t round;
  std::uint64_t reduction;
};

/// What `rank` contributes: any bits, but few enough that 64 ranks' sums stay below 2^64.
std::uint64_t contribution(const Place& place, int rank, std::size_t word) {
  std::uint64_t x = place.call * 0x9e3779b97f4a7c15ull + place.round * 0xbf58476d1ce4e5b9ull +
                    place.reduction * 0x94d049bb133111ebull +
                    std::uint64_t(rank) * 0x2545f4914f6cdd1dull + word;
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

class Round {
 public:
  Round(Aggregator& aggregator, const Load& load, std::uint64_t call, int round, int rank)
      : kind_(kinds[std::size_t(round)]),
        reduction_(aggregator.open(call, round, load.reductions)) {
    for (std::size_t i = 0; i < load.reductions; ++i) {
      // Agreements are small; lengths are ragged, and one is zero.
      const std::size_t words =
          round == 1 ? (load.words * (i + 1)) / load.reductions : (call * 7 + i * 5) % 40;
      const Place place{call, std::uint64_t(round), i};
      Words mine(words);
      for (std::size_t w = 0; w < words; ++w) mine[w] = contribution(place, rank, w);
      places_.push_back(place);
      contributions_.push_back(std::move(mine));
      const bool in_place = i % 2 == 0;
      sums_.emplace_back(in_place ? 0 : words);
    }
    untouched_ = contributions_;
  }

  void start(std::size_t i) {
    Words& sum = sum_of(i);
    reduction_->start(contributions_[i], sum, {kind_}, i);
  }

  void poll() {
    std::array<Completion, 4> done;
    finished_ += reduction_->poll(done);
  }
  [[nodiscard]] bool done() const { return finished_ == places_.size(); }

  [[nodiscard]] std::uint64_t words() const {
    std::uint64_t count = 0;
    for (const Words& words : contributions_) count += words.size();
    return count;
  }
  /// Also counts contributions that were changed though they are not the sum.
  std::uint64_t wrong_words(int ranks) {
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Words& sum = sum_of(i);
      for (std::size_t w = 0; w < sum.size(); ++w) {
        std::uint64_t right = contribution(places_[i], 0, w);
        for (int r = 1; r < ranks; ++r)
          right = merged(kind_, right, contribution(places_[i], r, w));
        wrong += sum[w] != right;
      }
      if (&sum != &contributions_[i]) wrong += contributions_[i] != untouched_[i];
    }
    return wrong;
  }

 private:
  Words& sum_of(std::size_t i) {
    return sums_[i].size() == contributions_[i].size() ? sums_[i] : contributions_[i];
  }

  MergeKind kind_;
  std::unique_ptr<Reduction> reduction_;
  std::vector<Place> places_;
  std::vector<Words> contributions_, untouched_, sums_;
  std::size_t finished_ = 0;
};

struct Call {
  std::vector<std::unique_ptr<Round>> rounds;

  Call(Aggregator& aggregator, const Load& load, std::uint64_t number, int rank) {
    for (std::size_t r = 0; r < kinds.size(); ++r)
      rounds.push_back(std::make_unique<Round>(aggregator, load, number, int(r), rank));
    // Ranks start the same in each round, but rounds mix as it happens.
    for (std::size_t i = 0; i < load.reductions; ++i)
      for (std::size_t r = 0; r < rounds.size(); ++r)
        rounds[rank % 2 == 0 ? r : rounds.size() - 1 - r]->start(i);
  }
  void poll() {
    for (auto& round : rounds) round->poll();
  }
  [[nodiscard]] bool done() const {
    return std::ranges::all_of(rounds, [](const auto& round) { return round->done(); });
  }
};

double median(std::vector<double>& values) {
  std::ranges::nth_element(values, values.begin() + std::ptrdiff_t(values.size() / 2));
  return values[values.size() / 2];
}

/// Memory is taken once, and nothing but the aggregator is at work.
LoadResult run_unchecked(Aggregator& aggregator, const Load& load) {
  LoadResult result{.words = load.calls * load.words};
  const Words contribution(load.words, 1);
  Words sum(load.words);
  std::vector<double> seconds;
  std::array<Completion, 1> done;
  for (std::size_t call = 0; call < load.calls; ++call) {
    const auto start = Clock::now();
    const auto reduction = aggregator.open(load.first_call + call, 0, 1);
    reduction->start(contribution, sum, {MergeKind::add}, 0);
    while (reduction->poll(done) == 0) std::this_thread::yield();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  result.call_seconds = median(seconds);
  return result;
}

}  // namespace

LoadResult run_load(Aggregator& aggregator, const Load& load, int rank, int ranks) {
  if (load.unchecked) return run_unchecked(aggregator, load);
  LoadResult result;
  std::deque<Call> calls;
  std::uint64_t next = 0;
  while (next < load.calls || !calls.empty()) {
    if (next < load.calls && calls.size() < load.in_flight) {
      if (load.pause_milliseconds != 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(load.pause_milliseconds));
      calls.emplace_back(aggregator, load, load.first_call + next++, rank);
    }
    for (Call& call : calls) call.poll();
    if (!calls.front().done()) {
      std::this_thread::yield();
      continue;
    }
    for (auto& round : calls.front().rounds) {
      result.words += round->words();
      result.wrong_words += round->wrong_words(ranks);
    }
    calls.pop_front();
  }
  return result;
}

}  // namespace cohom::test
