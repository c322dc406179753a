#pragma once
// MpiReduction: the reductions of one round of one call, as MPI_Iallreduce.

#include "mpi_ext/transport/native_reductions.hpp"
#include "mpi_ext/transport/open_requests.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

namespace cohom::mpi {

class MpiReduction final : public Reduction {
 public:
  /// Lines up behind those that opened before, until it has started `reductions` or is destroyed.
  /// Who does not know their number yet announces more than there can be. `queue` must outlive it.
  MpiReduction(RoundQueue& queue, std::size_t reductions);
  /// Waits for what was started: MPI has no way to end a collective early, and goes on writing to
  /// the words. What was not started is dropped and counts as done for those behind: all ranks do
  /// so alike, or one gave up.
  ~MpiReduction() override;
  /// If it has not started all, those behind can start nothing any more: MPI matches collectives by
  /// their order alone.
  bool give_up() noexcept override;

  /// Starts now, or when those before have started all of theirs. @throws Error(transport) when an
  /// earlier one gave up
  void start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum, Merge merge,
             std::uint64_t cookie) override;
  /// @throws Error(transport)
  std::size_t poll(std::span<Completion> out) override;

 private:
  struct Waiting {
    std::span<const std::uint64_t> contribution;
    std::span<std::uint64_t> sum;
    Merge merge;
    std::uint64_t cookie = 0;
  };

  [[nodiscard]] bool first() const { return queue_.starting.front() == this; }
  void start_now(const Waiting& reduction);
  void start_waiting();
  void drop_waiting() noexcept;
  void leave();

  RoundQueue& queue_;
  std::uint64_t number_;          ///< in the queue, in the order of opening
  std::size_t not_started_;       ///< of the number announced; in the queue while it is not 0
  std::vector<Waiting> waiting_;  ///< start() came before its turn
  std::exception_ptr failure_;    ///< of a reduction whose turn came by someone else's
  OpenRequests requests_;
};

}  // namespace cohom::mpi
