#pragma once
// What the emulated device is made of besides memory: streams that wait, events, and what goes
// wrong.

#include "kernels/device_runtime/emulated/emulated_runtime.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::kernels::device {

inline std::atomic<bool> broken = false;
/// How often somebody waited for a stream that is held.
inline std::atomic<unsigned> waits_for_held = 0;
/// The calling thread's device.
inline thread_local int current = 0;

/// Work that was put into a stream and not done yet. Its number counts from 1 on.
class Stream {
 public:
  explicit Stream(int device) : device_(device) {}

  [[nodiscard]] int device() const { return device_; }
  void put(std::function<void()> work) { put({.run = std::move(work)}); }
  /// What comes from now on comes behind another stream's work, too.
  void put_behind(std::shared_ptr<Stream> other, std::uint64_t number) {
    put({.run = [] {}, .other = std::move(other), .number = number});
  }
  /// Work of an engine that is quick: done at once if nothing is before it.
  void put_quick(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    put(std::move(work));
    if (works_.size() == 1 && !held_) do_first();
  }
  [[nodiscard]] std::uint64_t last() {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  [[nodiscard]] bool is_done(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return done_ >= number;
  }
  /// For somebody who asks and does not wait: one work, or one of what it comes behind.
  void do_one() {
    const std::lock_guard lock(mutex_);
    if (works_.empty() || held_) return;
    const Work& first = works_.front();
    if (first.other != nullptr && first.other->done_ < first.number)
      first.other->do_one();
    else
      do_first();
  }
  void do_until(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (held_ && done_ < number) ++waits_for_held;
    while (done_ < number) do_first();
  }
  void do_all() { do_until(last()); }
  void hold(bool now) {
    const std::lock_guard lock(mutex_);
    held_ = now;
  }

 private:
  struct Work {
    std::function<void()> run;
    std::shared_ptr<Stream> other = nullptr;  ///< whose work, up to a number, comes first
    std::uint64_t number = 0;
  };
  static constexpr std::size_t max_waiting = 4096;

  void put(Work work) {
    const std::lock_guard lock(mutex_);
    works_.push_back(std::move(work));
    ++last_;
    if (works_.size() > max_waiting) do_first();
  }
  void do_first() {
    const Work work = std::move(works_.front());
    works_.pop_front();
    if (work.other != nullptr) work.other->do_until(work.number);
    ++done_;
    if (!broken) work.run();
  }

  /// One for all: work of a stream may wait for another one's, and the device does one thing at a
  /// time.
  static inline std::recursive_mutex mutex_;
  int device_;
  std::deque<Work> works_;
  std::uint64_t last_ = 0, done_ = 0;
  bool held_ = false;
};

struct Event {
  int device;
  std::shared_ptr<Stream> stream = nullptr;
  std::uint64_t number = 0;
};

/// Streams by their handles, and each device's default one; pinned memory by its end; and what else
/// the process shares.
class DeviceState {
 public:
  static DeviceState& instance() {
    static DeviceState& state = *new DeviceState();  // outlives all users
    return state;
  }

  std::shared_ptr<Stream> stream(DeviceStream handle) {
    const std::lock_guard lock(mutex_);
    if (handle == nullptr) return defaults_[current];
    const auto found = streams_.find(handle);
    if (found == streams_.end())
      throw DeviceError(ErrorKind::transport, "the stream does not exist", false);
    return found->second;
  }
  std::vector<std::shared_ptr<Stream>> streams() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Stream>> all(std::begin(defaults_), std::end(defaults_));
    for (const auto& [handle, stream] : streams_) all.push_back(stream);
    return all;
  }
  DeviceStream add_stream() {
    const std::lock_guard lock(mutex_);
    const auto handle = reinterpret_cast<DeviceStream>(++next_handle_ * 16);
    streams_[handle] = std::make_shared<Stream>(current);
    return handle;
  }
  void remove_stream(DeviceStream handle) {
    const std::lock_guard lock(mutex_);
    streams_.erase(handle);
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

  void add_managed(std::byte* memory, std::size_t bytes, int device) {
    const std::lock_guard lock(mutex_);
    managed_[memory + bytes] = {bytes, device};
  }
  void remove_managed(std::byte* memory) {
    const std::lock_guard lock(mutex_);
    std::erase_if(managed_,
                  [&](const auto& piece) { return piece.first - piece.second.bytes == memory; });
  }
  /// Whose managed memory an address is in; -1: nobody's.
  int device_of_managed(const void* address) {
    const std::lock_guard lock(mutex_);
    auto* const at = static_cast<std::byte*>(const_cast<void*>(address));
    const auto piece = managed_.upper_bound(at);
    return piece != managed_.end() && at >= piece->first - piece->second.bytes
               ? piece->second.device
               : -1;
  }

  void start_capture(DeviceStream stream, bool shows) {
    const std::lock_guard lock(mutex_);
    captures_[stream] = {.thread = std::this_thread::get_id(), .device = current, .shows = shows};
  }
  void stop_capture(DeviceStream stream) {
    const std::lock_guard lock(mutex_);
    captures_.erase(stream);
  }
  void stop_captures() {
    const std::lock_guard lock(mutex_);
    captures_.clear();
  }
  bool capturing(DeviceStream stream) {
    const std::lock_guard lock(mutex_);
    return captures_.contains(stream);
  }
  /// By this thread, as the default stream of the current device tells.
  bool capture_shows() {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(captures_, [](const auto& one) {
      return one.second.is_own() && one.second.shows && one.second.device == current;
    });
  }
  /// Ends this thread's captures; whether there was one.
  bool break_captures() {
    const std::lock_guard lock(mutex_);
    bool any = false;
    for (auto& [stream, capture] : captures_)
      if (capture.is_own()) any = capture.broken = true;
    return any;
  }
  bool capture_broken(DeviceStream stream) {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find(stream);
    return found != captures_.end() && found->second.broken;
  }

 private:
  struct Capture {
    std::thread::id thread;
    int device;
    bool shows;
    bool broken = false;
    [[nodiscard]] bool is_own() const { return thread == std::this_thread::get_id(); }
  };

  DeviceState() {
    for (int device = 0; device < emulated::devices; ++device)
      defaults_[device] = std::make_shared<Stream>(device);
  }

  std::mutex mutex_;
  std::shared_ptr<Stream> defaults_[emulated::devices];
  std::map<DeviceStream, std::shared_ptr<Stream>> streams_;
  std::map<std::byte*, std::size_t> pinned_;
  struct Managed {
    std::size_t bytes;
    int device;
  };
  std::map<std::byte*, Managed> managed_;  ///< by its end
  std::map<DeviceStream, Capture> captures_;
  std::uintptr_t next_handle_ = 0;
};

}  // namespace cohom::kernels::device
