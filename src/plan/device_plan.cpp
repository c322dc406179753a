#include "plan/device_plan.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <utility>

namespace cohom {

DevicePlan::DevicePlan(const kernels::DeviceLibrary& library, const Placement& placement,
                       const BufferBytes& bytes, bool runs_there, bool words_reach_transport)
    : work_(DeviceWork::make(library, placement.device)),
      placement_(placement),
      bytes_(bytes),
      runs_there_(runs_there),
      words_reach_transport_(words_reach_transport) {}

void DevicePlan::take_words(std::span<std::byte> words, Transport& transport) {
  words_.words = words;
  if (words.empty()) return;
  if (words_reach_transport_) {
    registration_ = transport.register_memory(words, MemorySpace::cuda);
  } else {
    staged_ = {work_->pinned(), words.size()};
    words_.staged = staged_.data();
    registration_ = transport.register_memory(staged_.bytes(), MemorySpace::pinned);
  }
  busy_ = work_->mark(work_->stream());  // the words are being zeroed
}

void DevicePlan::drain() noexcept {
  try {
    const DeviceWork::Use use(work_.get());
    work_->synchronise();
  } catch (const Error&) {  // whoever used the stream was told
  }
}

std::unique_ptr<Channel> DevicePlan::wrap(std::unique_ptr<Channel> channel) {
  if (!runs_there_) return channel;
  return std::make_unique<DeviceChannel>(std::move(channel), *work_, words_);
}

void DevicePlan::take_copies(bool in_place) {
  const bool output = placement_.output == MemorySpace::cuda;
  const std::size_t shared = in_place ? std::max(bytes_.input, bytes_.output) : bytes_.output;
  if (output && output_.size() < shared) {
    // The device may still read that of a call before, which no rank waited for.
    if (output_.size() != 0) work_->synchronise();
    output_ = {work_->pinned(), shared};
  }
  if (placement_.input != MemorySpace::cuda || (in_place && output)) return;
  if (input_.size() < bytes_.input) input_ = {work_->pinned(), bytes_.input};
}

DeviceCall::DeviceCall(DevicePlan& plan, const void* input, void* output,
                       std::optional<kernels::DeviceStream> stream)
    : plan_(plan),
      work_(*plan.work_),
      users_input_(input),
      users_output_(output),
      stream_(stream),
      input_(input),
      output_(output) {}

DeviceCall::~DeviceCall() {
  for (const kernels::DeviceEvent mark : {before_, copied_, end_})
    if (mark != nullptr) work_.forget(mark);
}

void DeviceCall::begin() {
  kernels::DeviceRuntime& runtime = work_.runtime();
  runtime.check();
  if (!plan_.runs_there_) {
    const bool in_place = users_input_ == users_output_;
    plan_.take_copies(in_place);
    if (plan_.placement_.output == MemorySpace::cuda) output_ = plan_.output_.data();
    if (plan_.placement_.input == MemorySpace::cuda)
      input_ = copy_ = in_place ? plan_.output_.data() : plan_.input_.data();
  }
  if (stream_) before_ = work_.mark(*stream_);
}

bool DeviceCall::may_work() {
  if (!passed(before_)) return false;
  if (copy_ != nullptr) start_copy(std::exchange(copy_, nullptr));
  return passed(copied_);
}

bool DeviceCall::passed(kernels::DeviceEvent& mark) {
  if (mark == nullptr) return true;
  if (!work_.reached(mark)) return false;
  work_.forget(std::exchange(mark, nullptr));
  return true;
}

void DeviceCall::start_copy(std::byte* copy) {
  if (plan_.bytes_.input == 0) return;
  work_.runtime().copy_to_host(copy, users_input_, plan_.bytes_.input, work_.stream());
  copied_ = work_.mark(work_.stream());
}

bool DeviceCall::complete(bool wanted) {
  if (end_ == nullptr) {
    if (wanted && output_ != users_output_ && plan_.bytes_.output != 0)
      work_.runtime().copy_to_device(users_output_, output_, plan_.bytes_.output, work_.stream());
    end_ = work_.mark(work_.stream());
    if (stream_) work_.runtime().let_wait(*stream_, end_);
  }
  if (stream_) {
    plan_.busy_ = std::exchange(end_, nullptr);
    return true;
  }
  if (!passed(end_)) return false;
  work_.runtime().check();
  return true;
}

}  // namespace cohom
