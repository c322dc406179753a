#include "call/native_call.hpp"

#include <cstring>

namespace cohom {

void NativeCall::prepare(const void* input, void* output, bool may_give_up) {
  input_ = input;
  output_ = output;
  if (!may_give_up) return;
  copy_.resize(bytes());
  if (!copy_.empty()) std::memcpy(copy_.data(), input, copy_.size());
}

void NativeCall::start(bool block) {
  void* const to = copy_.empty() ? output_ : copy_.data();
  const void* const from = copy_.empty() ? input_ : copy_.data();
  if (block)
    native_.add(from, to, plan_.elements(), plan_.type());
  else
    sum_ = native_.start(from, to, plan_.elements(), plan_.type());
}

bool NativeCall::test() {
  if (sum_ != nullptr && !sum_->test()) return false;
  sum_.reset();
  plan_.finish(copy_.empty() ? output_ : copy_.data(), output_);
  return true;
}

}  // namespace cohom
