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
  // Where a part lies over the input there is room for it elsewhere, so that no rank is in place.
  const bool scatters = buffers_.collective == ReductionKind::reduce_scatter;
  const bool gathers = plan_.shape().gathers();
  const BufferBytes bytes = plan_.shape().bytes_of_rank(rank_, ranks_);
  if ((scatters && input == output) || ((scatters || gathers) && may_give_up))
    part_.resize(bytes.output);
  // MPI wants an allgather to be in place on all ranks or on none.
  const auto* const begin = static_cast<const std::byte*>(output);
  const bool in_place =
      gathers && bytes.input != 0 && input == begin + std::size_t(rank_) * bytes.input;
  if (!may_give_up && !in_place) return;
  copy_.resize(bytes.input);
  if (!copy_.empty()) std::memcpy(copy_.data(), input, copy_.size());
}

void NativeCall::start(bool block, bool in_place) {
  NativeBuffers buffers = buffers_;
  const std::size_t bytes = buffers.count * size_of(plan_.type());
  if (!copy_.empty()) {
    buffers.input = copy_.data();
    if (!plan_.shape().gathers()) buffers.output = copy_.data();
  } else if (in_place && buffers.collective == ReductionKind::allreduce &&
             buffers.input != buffers.output && bytes != 0) {
    std::memcpy(buffers.output, buffers.input, bytes);
    buffers.input = buffers.output;
  }
  if (!part_.empty()) buffers.output = part_.data();
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
