#include "mpi_ext/transport/native_reductions.hpp"

#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/base/thread_level.hpp"
#include "mpi_ext/transport/collective_layers.hpp"
#include "mpi_ext/transport/mpi_reduction.hpp"

#include <algorithm>

namespace cohom::mpi {

void RoundQueue::expect_right_order(std::uint64_t number) const {
  if (number > first_given_up)
    throw Error(
        ErrorKind::transport,
        "an earlier call by fabric on this communicator ended early on this rank; make a new "
        "communicator");
}

NativeReductions::NativeReductions(MPI_Comm comm, const Operations& operations)
    : operations_(operations) {
  queues_.reserve(rounds_of_their_own);
  queues_.emplace_back(OwnedComm(comm), operations_);
  for (int round = 1; round < rounds_of_their_own; ++round)
    queues_.emplace_back(OwnedComm::adopt(MPI_COMM_NULL), operations_);
}

NativeReductions::~NativeReductions() {
  // Of a call that ended before all ranks had come this far.
  static_cast<void>(duplicates_.release());
}

/// Of the first queue's communicator, on which nothing else has begun: so the order is the same on
/// all ranks, whatever they do with the user's.
bool NativeReductions::prepare() {
  if (prepared_) return true;
  const MpiUse use;
  if (!duplicates_) {
    duplicates_ = std::make_unique<Duplicates>();
    duplicates_->comms.fill(MPI_COMM_NULL);
    duplicates_->requests.fill(MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < duplicates_->comms.size(); ++i)
      check(MPI_Comm_idup(queues_.front().comm.get(), &duplicates_->comms[i],
                          &duplicates_->requests[i]),
            "MPI_Comm_idup");
  }
  int done = 0;
  check(MPI_Testall(static_cast<int>(duplicates_->requests.size()), duplicates_->requests.data(),
                    &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
  if (done == 0) return false;
  // Before one of them is taken: asking for another may have failed, and the next call comes here
  // again.
  if (std::ranges::find(duplicates_->comms, MPI_COMM_NULL) != duplicates_->comms.end())
    throw Error(ErrorKind::transport, "MPI made no communicator for fabric");
  for (std::size_t i = 0; i < duplicates_->comms.size(); ++i) {
    const MPI_Comm comm = duplicates_->comms[i];
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    queues_[i + 1].comm = OwnedComm::adopt(comm);
  }
  duplicates_.reset();
  return prepared_ = true;
}

std::string NativeReductions::describe() const {
  // Asked once a process: MPI opens all its components to tell.
  static const std::string layers = summary(collective_layers());
  return std::string(name()) + ", which " + layers;
}

bool NativeReductions::supports(Merge merge) const {
  switch (merge.kind) {
    case MergeKind::add:
    case MergeKind::bit_or:
    case MergeKind::max:
    case MergeKind::max8:
    case MergeKind::max16: return true;
    case MergeKind::add_packed: return false;
    case MergeKind::add_float:
      return merge.type == ElementType::f32 || merge.type == ElementType::f64;
  }
  return false;
}

std::unique_ptr<Reduction> NativeReductions::open(std::uint64_t /*call*/, int round,
                                                  std::size_t reductions) {
  RoundQueue& queue = queues_[static_cast<std::size_t>(round) % queues_.size()];
  queue.expect_right_order(queue.opened);
  return std::make_unique<MpiReduction>(queue, reductions);
}

}  // namespace cohom::mpi
