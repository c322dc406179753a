#include "device_plan.hpp"

#include <cohom/error.hpp>

#include <utility>

namespace cohom {

DevicePlan::DevicePlan(const kernels::DeviceLibrary& library, const Placement& placement,
                       bool runs_there)
    : work_(DeviceWork::make(library, placement.device)),
      placement_(placement),
      runs_there_(runs_there) {}

void DevicePlan::take_words(std::span<std::byte> words, Transport& transport, bool reaches) {
  words_.words = words;
  if (words.empty()) return;
  if (reaches) {
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

DeviceCall::DeviceCall(DevicePlan& plan, const void* input, void* output, std::size_t bytes,
                       std::optional<kernels::DeviceStream> stream)
    : plan_(plan),
      work_(*plan.work_),
      users_input_(input),
      users_output_(output),
      bytes_(bytes),
      stream_(stream),
      input_(input),
      output_(output) {}

void DeviceCall::begin() {
  kernels::DeviceRuntime& runtime = work_.runtime();
  if (stream_ && runtime.capturing(*stream_))
    throw Error(
        ErrorKind::invalid_argument,
        "the stream is being captured into a graph, which cannot hold messages between ranks; "
        "end the capture before the allreduce");
  runtime.check();
  if (plan_.busy_ != nullptr) {  // what comes from other ranks is in no stream's order
    runtime.wait(plan_.busy_);
    work_.forget(std::exchange(plan_.busy_, nullptr));
  }
  if (stream_)
    work_.let_follow(work_.stream(), *stream_);
  else
    runtime.synchronise_device();
  if (!plan_.runs_there_) copy_input();
}

/// Memory is taken by the first call that needs it.
void DeviceCall::copy_input() {
  const bool in_place = users_input_ == users_output_;
  Memory& pinned = work_.pinned();
  if (plan_.placement_.output == MemorySpace::cuda) {
    if (plan_.output_.size() < bytes_) plan_.output_ = {pinned, bytes_};
    output_ = plan_.output_.data();
  }
  if (plan_.placement_.input != MemorySpace::cuda) {
    if (stream_)
      work_.runtime().synchronise(work_.stream());  // it may write the host's memory, too
    return;
  }
  if (!in_place && plan_.input_.size() < bytes_) plan_.input_ = {pinned, bytes_};
  std::byte* const copy = in_place ? plan_.output_.data() : plan_.input_.data();
  input_ = copy;
  if (bytes_ != 0) work_.runtime().copy_to_host(copy, users_input_, bytes_, work_.stream());
  work_.runtime().synchronise(work_.stream());
}

bool DeviceCall::finish() {
  if (end_ == nullptr) {
    if (output_ != users_output_ && bytes_ != 0)
      work_.runtime().copy_to_device(users_output_, output_, bytes_, work_.stream());
    end_ = work_.mark(work_.stream());
    if (stream_) {
      work_.runtime().let_wait(*stream_, end_);
      plan_.busy_ = end_;
    }
  }
  if (stream_) return true;
  if (!work_.reached(end_)) return false;
  work_.forget(end_);
  work_.runtime().check();
  return true;
}

}  // namespace cohom
