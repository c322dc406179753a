#include "mpi_ext/transport/mpi_reduction.hpp"

#include "mpi_ext/base/callable.hpp"
#include "mpi_ext/base/mpi_check.hpp"

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

namespace cohom::mpi {

namespace {

/// How MPI sees words of one merge: `per_word` items of the operation's type.
struct WordMerge {
  OperationId operation;
  std::size_t per_word = 1;
};

WordMerge word_merge_of(Merge merge) {
  switch (merge.kind) {
    case MergeKind::add: return {OperationId::add_u64, 1};
    case MergeKind::bit_or: return {OperationId::or_u64, 1};
    case MergeKind::max: return {OperationId::max_u32, 2};
    case MergeKind::max8: return {OperationId::max_u8, 8};
    case MergeKind::max16: return {OperationId::max_u16, 4};
    case MergeKind::add_float:
      if (merge.type == ElementType::f32) return {OperationId::add_f32, 2};
      if (merge.type == ElementType::f64) return {OperationId::add_f64, 1};
      break;
    case MergeKind::add_packed: break;
  }
  throw Error(ErrorKind::unsupported, "MPI has no operation for the merge " +
                                          std::string(name_of(merge.kind)) + " of " +
                                          std::string(name_of(merge.type)));
}

}  // namespace

MpiReduction::MpiReduction(RoundQueue& queue, std::size_t reductions)
    : queue_(queue), number_(queue.opened++), not_started_(reductions) {
  if (reductions != 0) queue_.starting.push_back(this);
}

MpiReduction::~MpiReduction() {
  requests_.drain();
  drop_waiting();
}

bool MpiReduction::give_up() noexcept {
  if (not_started_ != 0) queue_.first_given_up = std::min(queue_.first_given_up, number_);
  drop_waiting();
  return requests_.advance();
}

void MpiReduction::drop_waiting() noexcept {
  waiting_.clear();
  if (not_started_ != 0) leave();
  not_started_ = 0;
}

void MpiReduction::start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum,
                         Merge merge, std::uint64_t cookie) {
  if (waiting_.size() >= not_started_)
    throw Error(ErrorKind::state, "more reductions were started than announced");
  waiting_.push_back({contribution, sum, merge, cookie});
  if (first()) start_waiting();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

std::size_t MpiReduction::poll(std::span<Completion> out) {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  const MpiUse use;
  return requests_.poll(out);
}

/// Only for the first in the queue.
void MpiReduction::start_waiting() {
  try {
    for (const Waiting& reduction : waiting_) {
      --not_started_;
      start_now(reduction);
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  waiting_.clear();
  if (not_started_ == 0) leave();
}

void MpiReduction::start_now(const Waiting& reduction) {
  queue_.expect_right_order(number_);
  const WordMerge merge = word_merge_of(reduction.merge);
  const Operation& operation = (*queue_.operations)[merge.operation];
  const std::size_t count = reduction.sum.size() * merge.per_word;
  if (count > static_cast<std::size_t>(INT_MAX))
    throw Error(ErrorKind::transport, "a reduction of " + std::to_string(count) +
                                          " items; MPI takes at most " + std::to_string(INT_MAX));
  const MpiUse use;
  requests_.reserve();
  MPI_Request request = MPI_REQUEST_NULL;
  const void* const from = reduction.contribution.data() == reduction.sum.data()
                               ? MPI_IN_PLACE
                               : reduction.contribution.data();
  check(MPI_Iallreduce(from, reduction.sum.data(), static_cast<int>(count), operation.type,
                       operation.op, queue_.comm.get(), &request),
        "MPI_Iallreduce");
  requests_.add(request, {.cookie = reduction.cookie, .bytes = reduction.sum.size_bytes()}, false);
}

/// Lets those behind have their turn, and each that has all it announced leave in turn.
void MpiReduction::leave() {
  const bool was_first = first();
  std::erase(queue_.starting, this);
  if (was_first && !queue_.starting.empty()) queue_.starting.front()->start_waiting();
}

}  // namespace cohom::mpi
