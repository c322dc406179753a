#include "call/native_call.hpp"

#include <cstring>

namespace cohom {

NativeCall::NativeCall(NativeSums& native, const PlanCore& plan, int rank, int ranks)
    : native_(native),
      plan_(plan),
      ranks_(ranks),
      gets_some_(plan.shape().gives_to(rank)),
      buffers_(plan.shape().native_buffers()) {}

void NativeCall::prepare(const void* input, void* output, bool may_give_up) {
  buffers_.input = input;
  buffers_.output = output;
  if (!may_give_up) return;
  copy_.resize(plan_.shape().elements(ranks_) * size_of(plan_.type()));
  if (!copy_.empty()) std::memcpy(copy_.data(), input, copy_.size());
}

void NativeCall::start(bool block) {
  NativeBuffers buffers = buffers_;
  if (!copy_.empty()) buffers.input = buffers.output = copy_.data();
  if (block)
    native_.add(buffers);
  else
    sum_ = native_.start(buffers);
}

bool NativeCall::test() {
  if (sum_ != nullptr && !sum_->test()) return false;
  sum_.reset();
  if (gets_some_) plan_.finish(copy_.empty() ? buffers_.output : copy_.data(), buffers_.output);
  return true;
}

}  // namespace cohom
