#include "call/native_call.hpp"

#include <cstring>

namespace cohom {

NativeCall::NativeCall(NativeSums& native, const PlanCore& plan, int rank, int ranks)
    : native_(native),
      plan_(plan),
      rank_(rank),
      ranks_(ranks),
      gets_some_(plan.shape().gives_to(rank)),
      buffers_(plan.shape().native_buffers()) {}

void NativeCall::prepare(const void* input, void* output, bool may_give_up) {
  buffers_.input = input;
  buffers_.output = output;
  // Where a part lies over the input there is room for it elsewhere, so that no rank is in place;
  // nor the root of a reduce, in which MPICH 4.0.2 may read from MPI_IN_PLACE where the root is
  // not rank 0.
  const BufferBytes room = plan_.shape().bytes_of_rank(rank_, ranks_);
  if (!allreduces() && (may_give_up || (input == output && !gathers()))) part_.resize(room.output);
  if (!may_give_up) return;
  copy_.resize(room.input);
  if (!copy_.empty()) std::memcpy(copy_.data(), input, copy_.size());
}

bool NativeCall::is_in_place() const {
  if (gathers()) return copy_.empty() && buffers_.input == own_part(buffers_.output);
  return allreduces() && (!copy_.empty() || buffers_.input == buffers_.output);
}

void NativeCall::start(bool block, bool in_place) {
  NativeBuffers buffers = buffers_;
  if (!copy_.empty()) {
    buffers.input = copy_.data();
    if (allreduces()) buffers.output = copy_.data();
  }
  if (!part_.empty()) buffers.output = part_.data();
  if (in_place && (allreduces() || gathers()) && bytes() != 0) {
    void* const place = gathers() ? own_part(buffers.output) : buffers.output;
    if (buffers.input != place) std::memcpy(place, buffers.input, bytes());
    buffers.input = place;
  }
  sum_at_ = buffers.output;
  if (block)
    native_.add(buffers);
  else
    sum_ = native_.start(buffers);
}

bool NativeCall::test() {
  if (sum_ != nullptr && !sum_->test()) return false;
  sum_.reset();
  if (gets_some_) plan_.finish(sum_at_, buffers_.output);
  return true;
}

}  // namespace cohom
