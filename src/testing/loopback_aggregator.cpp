#include "kernels/table/kernel_table.hpp"
#include "testing/loopback_shared.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <utility>

namespace cohom {

namespace {

using Loss = AggregatorFaults::Loss;

/// One rank's end of the aggregator, as its reductions see it.
struct LoopbackEnd {
  std::shared_ptr<LoopbackHub::Shared> shared;
  int rank = 0;
  bool in_network = false;

  [[nodiscard]] int ranks() const { return static_cast<int>(shared->inboxes.size()); }
  /// Null: nothing goes wrong.
  [[nodiscard]] const AggregatorFaults* faults() const {
    return in_network ? shared->options.faults.get() : nullptr;
  }
  [[nodiscard]] bool dead() const { return faults() != nullptr && faults()->dead; }
};

class LoopbackReduction final : public Reduction {
 public:
  LoopbackReduction(LoopbackEnd end, std::uint64_t call, int round)
      : end_(std::move(end)), call_(call), round_(round) {}

  void start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum_of_all,
             Merge merge, std::uint64_t cookie) override {
    const std::size_t number = started_++;
    const Loss loss = loss_of(number);
    lost_ |= loss != Loss::none || end_.dead();
    if (loss == Loss::contribution || end_.dead()) return;
    const std::lock_guard lock(end_.shared->sums_mutex);
    auto& sum = end_.shared->sums[key(number)];
    sum.contributions.resize(std::size_t(end_.ranks()));
    sum.contributions[std::size_t(end_.rank)].assign(contribution.begin(), contribution.end());
    if (++sum.arrived == end_.ranks()) add_up(sum, merge);
    pending_.push_back({number, sum_of_all, cookie});
  }

  std::size_t poll(std::span<Completion> out) override {
    if (lost_ || (end_.dead() && !pending_.empty()))
      throw Error(ErrorKind::transport, "the loopback aggregator lost a reduction");
    std::size_t count = 0;
    const std::lock_guard lock(end_.shared->sums_mutex);
    std::erase_if(pending_, [&](const Pending& pending) {
      if (count == out.size()) return false;
      const auto found = end_.shared->sums.find(key(pending.number));
      auto& sum = found->second;
      if (sum.arrived < end_.ranks()) return false;
      std::copy(sum.contributions[0].begin(), sum.contributions[0].end(), pending.sum.begin());
      if (++sum.fetched == end_.ranks()) end_.shared->sums.erase(found);
      out[count++] = {pending.cookie, pending.sum.size_bytes()};
      return true;
    });
    return count;
  }

 private:
  struct Pending {
    std::size_t number;
    std::span<std::uint64_t> sum;
    std::uint64_t cookie;
  };

  [[nodiscard]] LoopbackHub::Shared::SumKey key(std::size_t number) const {
    return {end_.in_network, call_, round_, number};
  }

  [[nodiscard]] Loss loss_of(std::size_t number) const {
    const AggregatorFaults* const faults = end_.faults();
    if (faults == nullptr || !faults->loss) return Loss::none;
    return faults->loss({.rank = end_.rank, .call = call_, .round = round_, .number = number});
  }

  static void add_up(LoopbackHub::Shared::Sum& sum, Merge merge) {
    std::vector<const void*> sources;
    for (const auto& words : sum.contributions) sources.push_back(words.data());
    kernels::kernel_table().merge(merge, sources.data(), sources.size(),
                                  sum.contributions[0].size() * 8, sum.contributions[0].data());
  }

  LoopbackEnd end_;
  std::uint64_t call_;
  int round_;
  std::size_t started_ = 0;
  bool lost_ = false;
  std::vector<Pending> pending_;
};

class LoopbackAggregator final : public Aggregator {
 public:
  explicit LoopbackAggregator(LoopbackEnd end) : end_(std::move(end)) {}

  [[nodiscard]] std::string_view name() const override { return "loopback"; }
  [[nodiscard]] bool supports(Merge merge) const override {
    if (end_.faults() != nullptr && end_.faults()->supports) return end_.faults()->supports(merge);
    return merge.kind != MergeKind::add_packed;
  }
  [[nodiscard]] std::size_t max_words() const override {
    return end_.faults() != nullptr ? end_.faults()->max_words : Aggregator::max_words();
  }
  [[nodiscard]] bool ready() override {
    if (end_.faults() == nullptr) return true;
    return !end_.dead() && (!end_.faults()->ready || end_.faults()->ready(end_.rank));
  }
  [[nodiscard]] bool may_fail() const override { return end_.in_network; }
  std::unique_ptr<Reduction> open(std::uint64_t call, int round, std::size_t) override {
    if (end_.faults() != nullptr && end_.faults()->opens && !end_.faults()->opens(end_.rank))
      throw Error(ErrorKind::transport, "the loopback aggregator has no place");
    return std::make_unique<LoopbackReduction>(end_, call, round);
  }

 private:
  LoopbackEnd end_;
};

}  // namespace

std::shared_ptr<Aggregator> make_loopback_aggregator(std::shared_ptr<LoopbackHub::Shared> shared,
                                                     int rank, bool in_network) {
  return std::make_shared<LoopbackAggregator>(LoopbackEnd{std::move(shared), rank, in_network});
}

}  // namespace cohom
