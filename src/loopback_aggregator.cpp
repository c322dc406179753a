#include "kernels/kernel_table.hpp"
#include "loopback_shared.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

namespace {

class LoopbackReduction final : public Reduction {
 public:
  LoopbackReduction(std::shared_ptr<LoopbackHub::Shared> shared, int rank, std::uint64_t call,
                    int round)
      : shared_(std::move(shared)), rank_(std::size_t(rank)), call_(call), round_(round) {}

  void start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum_of_all,
             Merge merge, std::uint64_t cookie) override {
    const std::size_t number = started_++;
    const std::lock_guard lock(shared_->sums_mutex);
    auto& sum = shared_->sums[{call_, round_, number}];
    sum.contributions.resize(shared_->inboxes.size());
    sum.contributions[rank_].assign(contribution.begin(), contribution.end());
    if (++sum.arrived == static_cast<int>(shared_->inboxes.size())) add_up(sum, merge);
    pending_.push_back({number, sum_of_all, cookie});
  }

  std::size_t poll(std::span<Completion> out) override {
    std::size_t count = 0;
    const std::lock_guard lock(shared_->sums_mutex);
    std::erase_if(pending_, [&](const Pending& pending) {
      if (count == out.size()) return false;
      const auto found = shared_->sums.find({call_, round_, pending.number});
      auto& sum = found->second;
      const int ranks = static_cast<int>(shared_->inboxes.size());
      if (sum.arrived < ranks) return false;
      std::copy(sum.contributions[0].begin(), sum.contributions[0].end(), pending.sum.begin());
      if (++sum.fetched == ranks) shared_->sums.erase(found);
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

  static void add_up(LoopbackHub::Shared::Sum& sum, Merge merge) {
    std::vector<const void*> sources;
    for (const auto& words : sum.contributions) sources.push_back(words.data());
    kernels::kernel_table().merge(merge, sources.data(), sources.size(),
                                  sum.contributions[0].size() * 8, sum.contributions[0].data());
  }

  std::shared_ptr<LoopbackHub::Shared> shared_;
  std::size_t rank_;
  std::uint64_t call_;
  int round_;
  std::size_t started_ = 0;
  std::vector<Pending> pending_;
};

class LoopbackAggregator final : public Aggregator {
 public:
  LoopbackAggregator(std::shared_ptr<LoopbackHub::Shared> shared, int rank)
      : shared_(std::move(shared)), rank_(rank) {}

  [[nodiscard]] std::string_view name() const override { return "loopback"; }
  [[nodiscard]] bool supports(Merge merge) const override {
    return merge.kind != MergeKind::add_packed;
  }
  [[nodiscard]] bool ready() override { return true; }
  [[nodiscard]] bool may_fail() const override { return false; }
  std::unique_ptr<Reduction> open(std::uint64_t call, int round, std::size_t) override {
    return std::make_unique<LoopbackReduction>(shared_, rank_, call, round);
  }

 private:
  std::shared_ptr<LoopbackHub::Shared> shared_;
  int rank_;
};

}  // namespace

std::shared_ptr<Aggregator> make_loopback_aggregator(std::shared_ptr<LoopbackHub::Shared> shared,
                                                     int rank) {
  return std::make_shared<LoopbackAggregator>(std::move(shared), rank);
}

}  // namespace cohom
