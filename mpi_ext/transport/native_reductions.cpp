#include "mpi_ext/transport/native_reductions.hpp"

#include "mpi_ext/base/callable.hpp"
#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/transport/collective_layers.hpp"
#include "mpi_ext/transport/mpi_reduction.hpp"

#include <string>
#include <utility>

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
  if (!duplicates_) return;
  // Of a call that ended before all ranks had come this far. MPI goes on with them on the other
  // ranks as long as it runs: freed, what it reads and writes would be somebody else's.
  duplicates_->parent = std::move(queues_.front().comm);
  static_cast<void>(duplicates_.release());
}

void NativeReductions::fail(const Error& error) {
  failure_ = Error(error.kind(), std::string("MPI made no communicators for fabric: ") +
                                     error.what() + "; take another algorithm");
  throw Error(*failure_);
}

/// Of the first queue's communicator, on which nothing else begins before: so the order is the same
/// on all ranks, whatever they do with the user's, and whichever of their calls comes here.
void NativeReductions::start_preparing() {
  if (failure_) throw Error(*failure_);
  if (prepared_ || duplicates_) return;
  const MpiUse use;
  duplicates_ = std::make_unique<Duplicates>();
  duplicates_->comms.fill(MPI_COMM_NULL);
  duplicates_->requests.fill(MPI_REQUEST_NULL);
  try {
    for (std::size_t i = 0; i < duplicates_->comms.size(); ++i)
      check(MPI_Comm_idup(queues_.front().comm.get(), &duplicates_->comms[i],
                          &duplicates_->requests[i]),
            "MPI_Comm_idup");
  } catch (const Error& error) {
    fail(error);
  }
}

bool NativeReductions::prepare() {
  if (failure_) throw Error(*failure_);
  if (prepared_) return true;
  const MpiUse use;
  int done = 0;
  try {
    check(MPI_Testall(static_cast<int>(duplicates_->requests.size()), duplicates_->requests.data(),
                      &done, MPI_STATUSES_IGNORE),
          "MPI_Testall of MPI_Comm_idup");
  } catch (const Error& error) {
    fail(error);
  }
  if (done == 0) return false;
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
