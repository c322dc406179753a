#include "kernels/table/kernel_table.hpp"
#include "testing/loopback_shared.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace cohom {

namespace {

using Shared = LoopbackHub::Shared;

/// A sum that all ranks have made their contribution to is added up by each of them, in the order
/// of ranks.
class LoopbackSum final : public NativeSum {
 public:
  LoopbackSum(std::shared_ptr<Shared> shared, std::uint64_t number, int rank,
              const NativeBuffers& buffers)
      : shared_(std::move(shared)), number_(number), rank_(rank), buffers_(buffers) {}
  LoopbackSum(const LoopbackSum&) = delete;
  LoopbackSum& operator=(const LoopbackSum&) = delete;
  ~LoopbackSum() override {
    while (!over_ && !LoopbackSum::test()) std::this_thread::yield();
  }

  [[nodiscard]] bool test() override {
    if (over_) return true;
    const std::lock_guard lock(shared_->sums_mutex);
    Shared::NativeVectors& vectors = shared_->native_sums[number_];
    // A rank that gets nothing waits for nobody, as in MPI.
    if (!gets_some()) return leave(vectors);
    if (vectors.arrived != shared_->inboxes.size()) return false;
    std::vector<const void*> operands;
    for (const auto& vector : vectors.contributions) {
      if (vector.size() != bytes_of_input(*shared_, buffers_))
        throw Error(ErrorKind::state, "ranks are in different native sums");
      operands.push_back(vector.data() + first_byte());
    }
    if (buffers_.collective == ReductionKind::allgather)
      gather(operands);
    else
      add(operands);
    return leave(vectors);
  }

  bool give_up() noexcept override { return over_; }

  static std::size_t bytes_of_input(const Shared& shared, const NativeBuffers& buffers) {
    const bool scatters = buffers.collective == ReductionKind::reduce_scatter;
    return buffers.count * size_of(buffers.type) * (scatters ? shared.inboxes.size() : 1);
  }

 private:
  [[nodiscard]] bool gets_some() const {
    return buffers_.collective != ReductionKind::reduce || rank_ == buffers_.root;
  }
  bool leave(Shared::NativeVectors& vectors) {
    if (++vectors.fetched == shared_->inboxes.size()) shared_->native_sums.erase(number_);
    return over_ = true;
  }
  [[nodiscard]] std::size_t bytes() const { return buffers_.count * size_of(buffers_.type); }
  /// Of the sum, that this rank gets.
  [[nodiscard]] std::size_t first_byte() const {
    return buffers_.collective == ReductionKind::reduce_scatter ? std::size_t(rank_) * bytes() : 0;
  }
  void add(const std::vector<const void*>& operands) {
    if (buffers_.count == 0) return;
    if (operands.size() == 1)
      std::memcpy(buffers_.output, operands.front(), bytes());
    else
      kernels::kernel_table().merge({MergeKind::add_float, buffers_.type}, operands.data(),
                                    operands.size(), bytes(), buffers_.output);
  }

  void gather(const std::vector<const void*>& parts) {
    auto* to = static_cast<std::byte*>(buffers_.output);
    for (const void* const part : parts) {
      if (bytes() != 0) std::memcpy(to, part, bytes());
      to += bytes();
    }
  }

  std::shared_ptr<Shared> shared_;
  std::uint64_t number_;
  int rank_;
  NativeBuffers buffers_;
  bool over_ = false;
};

class LoopbackSums final : public NativeSums {
 public:
  LoopbackSums(std::shared_ptr<Shared> shared, int rank)
      : shared_(std::move(shared)), rank_(rank) {}

  [[nodiscard]] std::string why_not(const NativeBuffers& buffers) const override {
    const bool adds = buffers.collective != ReductionKind::allgather;
    if (adds && size_of(buffers.type) == 2)
      return "MPI has no type " + std::string(name_of(buffers.type));
    return {};
  }

  void add(const NativeBuffers& buffers) override {
    ++shared_->native_blocked;
    const auto sum = start(buffers);
    while (!sum->test()) std::this_thread::yield();
  }

  [[nodiscard]] std::unique_ptr<NativeSum> start(const NativeBuffers& buffers) override {
    if (shared_->options.before_native_sum) shared_->options.before_native_sum();
    const std::uint64_t number = started_++;
    const auto* bytes = static_cast<const std::byte*>(buffers.input);
    {
      const std::lock_guard lock(shared_->sums_mutex);
      Shared::NativeVectors& vectors = shared_->native_sums[number];
      vectors.contributions.resize(shared_->inboxes.size());
      vectors.contributions[std::size_t(rank_)].assign(
          bytes, bytes + LoopbackSum::bytes_of_input(*shared_, buffers));
      ++vectors.arrived;
    }
    return std::make_unique<LoopbackSum>(shared_, number, rank_, buffers);
  }

 private:
  std::shared_ptr<Shared> shared_;
  int rank_;
  std::uint64_t started_ = 0;
};

}  // namespace

std::shared_ptr<NativeSums> make_loopback_sums(std::shared_ptr<Shared> shared, int rank) {
  return std::make_shared<LoopbackSums>(std::move(shared), rank);
}

}  // namespace cohom
