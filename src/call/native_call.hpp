#pragma once
// NativeCall: a call whose vector MPI's own reduction sums.

#include "plan/plan_core.hpp"

#include <cohom/native_sums.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace cohom {

class NativeCall {
 public:
  /// What is passed outlives it.
  NativeCall(NativeSums& native, const PlanCore& plan, int rank, int ranks);

  /// Before the agreement: all that this rank alone can fail at. `may_give_up`: the call may end
  /// before MPI does, which then goes on in a copy of the vector. @throws std::bad_alloc
  void prepare(const void* input, void* output, bool may_give_up);
  /// Whether MPI is to put the sum of an allreduce where its input lies, or finds what this rank
  /// brings to an allgather in its place.
  [[nodiscard]] bool is_in_place() const;
  /// All ranks make the call. `block`: and nothing else until it is over. `in_place`: some rank is,
  /// and MPI wants all to be or none. @throws Error(transport)
  void start(bool block, bool in_place);
  /// Makes progress; whether the result is in the output. @throws Error(transport)
  [[nodiscard]] bool test();

  /// The call ends early. Whether nothing uses its memory any more.
  [[nodiscard]] bool give_up() noexcept { return sum_ == nullptr || sum_->give_up(); }
  [[nodiscard]] bool uses_users_memory() const { return sum_ != nullptr && copy_.empty(); }

 private:
  [[nodiscard]] bool gathers() const { return buffers_.collective == ReductionKind::allgather; }
  [[nodiscard]] bool allreduces() const { return buffers_.collective == ReductionKind::allreduce; }
  /// Of an allgather's output.
  [[nodiscard]] std::byte* own_part(void* output) const {
    return static_cast<std::byte*>(output) + static_cast<std::size_t>(rank_) * bytes();
  }
  [[nodiscard]] std::size_t bytes() const { return buffers_.count * size_of(buffers_.type); }

  NativeSums& native_;
  const PlanCore& plan_;
  int rank_, ranks_;
  bool gets_some_;               ///< this rank does
  NativeBuffers buffers_;        ///< the user's
  std::vector<std::byte> copy_;  ///< what MPI reads, if not the input
  std::vector<std::byte> part_;  ///< where it writes what is no allreduce's, if not to the output
  void* sum_at_ = nullptr;       ///< where it writes
  std::unique_ptr<NativeSum> sum_;  ///< under way; null: none, or it is over. Before the copy
};

}  // namespace cohom
