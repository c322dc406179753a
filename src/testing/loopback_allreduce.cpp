#include "kernels/table/kernel_table.hpp"
#include "testing/loopback_shared.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace cohom {

namespace {

using Shared = LoopbackHub::Shared;

/// A sum that all ranks have made their contribution to is added up by each of them, in the order
/// of ranks.
class LoopbackSum final : public NativeSum {
 public:
  LoopbackSum(std::shared_ptr<Shared> shared, std::uint64_t number, void* output, std::size_t count,
              ElementType type)
      : shared_(std::move(shared)), number_(number), output_(output), count_(count), type_(type) {}
  LoopbackSum(const LoopbackSum&) = delete;
  LoopbackSum& operator=(const LoopbackSum&) = delete;
  ~LoopbackSum() override {
    while (!over_ && !LoopbackSum::test()) std::this_thread::yield();
  }

  [[nodiscard]] bool test() override {
    if (over_) return true;
    const std::lock_guard lock(shared_->sums_mutex);
    Shared::NativeVectors& vectors = shared_->native_sums[number_];
    if (vectors.arrived != shared_->inboxes.size()) return false;
    std::vector<const void*> operands;
    for (const auto& vector : vectors.contributions) {
      if (vector.size() != count_ * size_of(type_))
        throw Error(ErrorKind::state, "ranks are in different native sums");
      operands.push_back(vector.data());
    }
    add(operands);
    if (++vectors.fetched == shared_->inboxes.size()) shared_->native_sums.erase(number_);
    return over_ = true;
  }

  bool give_up() noexcept override { return over_; }

 private:
  void add(const std::vector<const void*>& operands) {
    if (count_ == 0) return;
    if (operands.size() == 1)
      std::memcpy(output_, operands.front(), count_ * size_of(type_));
    else
      kernels::kernel_table().merge({MergeKind::add_float, type_}, operands.data(), operands.size(),
                                    count_ * size_of(type_), output_);
  }

  std::shared_ptr<Shared> shared_;
  std::uint64_t number_;
  void* output_;
  std::size_t count_;
  ElementType type_;
  bool over_ = false;
};

class LoopbackAllreduce final : public NativeAllreduce {
 public:
  LoopbackAllreduce(std::shared_ptr<Shared> shared, int rank)
      : shared_(std::move(shared)), rank_(rank) {}

  [[nodiscard]] std::string_view name() const override { return "loopback"; }
  [[nodiscard]] bool adds(ElementType type) const override { return size_of(type) > 2; }

  void add(const void* input, void* output, std::size_t count, ElementType type) override {
    ++shared_->native_blocked;
    const auto sum = start(input, output, count, type);
    while (!sum->test()) std::this_thread::yield();
  }

  [[nodiscard]] std::unique_ptr<NativeSum> start(const void* input, void* output, std::size_t count,
                                                 ElementType type) override {
    if (shared_->options.before_native_sum) shared_->options.before_native_sum();
    const std::uint64_t number = started_++;
    const auto* bytes = static_cast<const std::byte*>(input);
    {
      const std::lock_guard lock(shared_->sums_mutex);
      Shared::NativeVectors& vectors = shared_->native_sums[number];
      vectors.contributions.resize(shared_->inboxes.size());
      vectors.contributions[std::size_t(rank_)].assign(bytes, bytes + count * size_of(type));
      ++vectors.arrived;
    }
    return std::make_unique<LoopbackSum>(shared_, number, output, count, type);
  }

 private:
  std::shared_ptr<Shared> shared_;
  int rank_;
  std::uint64_t started_ = 0;
};

}  // namespace

std::shared_ptr<NativeAllreduce> make_loopback_allreduce(std::shared_ptr<Shared> shared, int rank) {
  return std::make_shared<LoopbackAllreduce>(std::move(shared), rank);
}

}  // namespace cohom
