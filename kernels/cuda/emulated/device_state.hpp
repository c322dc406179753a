#pragma once
// What the emulated device is made of besides memory: streams that wait, events, and what goes wrong.

#include "kernels/cuda/device_runtime.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace cohom::kernels::device {

inline std::atomic<bool> broken = false;

/// Work that was put into a stream and not done yet. Its number counts from 1 on.
class Stream {
 public:
  void put(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    works_.push_back(std::move(work));
    ++last_;
    if (works_.size() > most_waiting) do_first();
  }
  [[nodiscard]] std::uint64_t last() {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  [[nodiscard]] bool is_done(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return done_ >= number;
  }
  void do_one() {
    const std::lock_guard lock(mutex_);
    if (!works_.empty()) do_first();
  }
  void do_until(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    while (done_ < number) do_first();
  }

 private:
  static constexpr std::size_t most_waiting = 4096;

  void do_first() {
    const std::function<void()> work = std::move(works_.front());
    works_.pop_front();
    ++done_;
    if (!broken) work();
  }

  /// One for all: work of a stream may wait for another one's, and the device does one thing at a time.
  static inline std::recursive_mutex mutex_;
  std::deque<std::function<void()>> works_;
  std::uint64_t last_ = 0, done_ = 0;
};

struct Event {
  std::shared_ptr<Stream> stream;
  std::uint64_t number = 0;
};

/// Streams by their handles, pinned memory by its end, and what else the process shares.
class DeviceState {
 public:
  static DeviceState& instance() {
    static DeviceState& state = *new DeviceState();  // outlives all users
    return state;
  }

  std::shared_ptr<Stream> stream(DeviceStream handle) {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(handle);
    if (found == streams_.end())
      throw DeviceError(ErrorKind::transport, "the stream does not exist", false);
    return found->second;
  }
  std::vector<std::shared_ptr<Stream>> streams() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Stream>> all;
    for (const auto& [handle, stream] : streams_) all.push_back(stream);
    return all;
  }
  DeviceStream add_stream() {
    const std::lock_guard lock(mutex_);
    const auto handle = reinterpret_cast<DeviceStream>(++next_handle_ * 16);
    streams_[handle] = std::make_shared<Stream>();
    return handle;
  }
  void remove_stream(DeviceStream handle) {
    const std::lock_guard lock(mutex_);
    if (handle != nullptr) streams_.erase(handle);
  }

  void add_pinned(std::byte* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    pinned_[memory + bytes] = bytes;
  }
  void remove_pinned(std::byte* memory) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pinned_, [&](const auto& piece) { return piece.first - piece.second == memory; });
  }
  bool is_pinned(const void* address) {
    const std::lock_guard lock(mutex_);
    auto* const at = static_cast<std::byte*>(const_cast<void*>(address));
    const auto piece = pinned_.upper_bound(at);
    return piece != pinned_.end() && at >= piece->first - piece->second;
  }

  void set_capturing(DeviceStream stream, bool now) {
    const std::lock_guard lock(mutex_);
    if (now)
      capturing_.insert(stream);
    else
      capturing_.erase(stream);
  }
  bool capturing(DeviceStream stream) {
    const std::lock_guard lock(mutex_);
    return capturing_.contains(stream);
  }
  void stop_capturing() {
    const std::lock_guard lock(mutex_);
    capturing_.clear();
  }

 private:
  DeviceState() { streams_[nullptr] = std::make_shared<Stream>(); }

  std::mutex mutex_;
  std::map<DeviceStream, std::shared_ptr<Stream>> streams_;
  std::map<std::byte*, std::size_t> pinned_;
  std::set<DeviceStream> capturing_;
  std::uintptr_t next_handle_ = 0;
};

}  // namespace cohom::kernels::device
