#pragma once
// NativeReductions: MPI_Iallreduce as an aggregator, so that a fabric that reduces in hardware
// (SHARP, through HCOLL or UCC) sums our words without knowing what they mean.

#include "mpi_ext/base/owned_comm.hpp"
#include "mpi_ext/transport/operations.hpp"

#include <cohom/error.hpp>
#include <cohom/offload.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohom::mpi {

class MpiReduction;

/// A communicator for one round index, and who may start on it. MPI wants all ranks to start the
/// collectives of one communicator in one order. Rounds advance at their own pace on every rank, so
/// each has a communicator; the calls of a round line up: one starts all its reductions, then the
/// next.
struct RoundQueue {
  RoundQueue(OwnedComm own, const Operations& mpis) : comm(std::move(own)), operations(&mpis) {}

  /// Of reduction `number` of the queue. @throws Error(transport) when an earlier one gave up
  void expect_right_order(std::uint64_t number) const;

  OwnedComm comm;  ///< the first queue's at once, the others' behind NativeReductions::prepare()
  const Operations* operations;
  std::deque<MpiReduction*> starting;  ///< in the order they were opened; only the first may start
  std::uint64_t opened = 0;
  /// The first that gave up with collectives that others may start and this rank never does.
  std::uint64_t first_given_up = std::numeric_limits<std::uint64_t>::max();
};

/// Calls must open the reductions of one round index in the same order on all ranks: when the call
/// starts, whatever it has to wait for before the first reduction. An open reduction keeps its
/// place in the queue, and later calls from starting theirs, until it is destroyed.
class NativeReductions final : public Aggregator {
 public:
  /// Rounds with this index or a higher one share a queue with lower ones.
  static constexpr int rounds_of_their_own = 3;

  /// Duplicates `comm` once; there is one for each round behind prepare(), as most communicators
  /// never use it. Collective. @throws Error(transport)
  explicit NativeReductions(MPI_Comm comm) : NativeReductions(comm, Operations::agreed(comm)) {}
  /// `operations` are the same on all ranks.
  NativeReductions(MPI_Comm comm, const Operations& operations);
  ~NativeReductions() override;

  [[nodiscard]] std::string_view name() const override { return "MPI_Iallreduce"; }
  [[nodiscard]] std::string describe() const override;
  /// MPI has an operation for all merges but add_packed, f16 and bf16.
  [[nodiscard]] bool supports(Merge merge) const override;
  [[nodiscard]] bool ready() override { return true; }
  [[nodiscard]] bool may_fail() const override { return false; }
  void start_preparing() override;
  [[nodiscard]] bool prepare() override;
  /// @throws Error(transport) when an earlier call gave up
  std::unique_ptr<Reduction> open(std::uint64_t call, int round, std::size_t reductions) override;

 private:
  /// Communicators that MPI makes meanwhile, and writes here: it cannot be stopped.
  struct Duplicates {
    OwnedComm parent = OwnedComm::adopt(MPI_COMM_NULL);  ///< where they are never finished
    std::array<MPI_Comm, rounds_of_their_own - 1> comms;
    std::array<MPI_Request, rounds_of_their_own - 1> requests;
  };

  /// No call can go by fabric any more, for all that this rank knows.
  [[noreturn]] void fail(const Error& error);

  Operations operations_;           ///< first: the queues refer to it
  std::vector<RoundQueue> queues_;  ///< by round index; reductions keep references into it
  bool prepared_ = false;
  std::unique_ptr<Duplicates> duplicates_;  ///< under way
  std::optional<Error> failure_;            ///< MPI made none
};

}  // namespace cohom::mpi
