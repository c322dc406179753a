#include "kernels/cuda/emulated/emulated_runtime.hpp"

#include "kernels/cuda/emulated/arena.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace cohom::kernels {
namespace {

using device::Arena;

thread_local int current = 0;
std::atomic<bool> broken = false;

void expect_working(const char* call) {
  if (broken)
    throw DeviceError(
        ErrorKind::transport,
        std::string(call) +
            ": an illegal memory access was encountered; the device cannot be used by "
            "this process any more",
        true);
}

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
class Shared {
 public:
  static Shared& instance() {
    static Shared& shared = *new Shared();
    return shared;
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
  Shared() { streams_[nullptr] = std::make_shared<Stream>(); }

  std::mutex mutex_;
  std::map<DeviceStream, std::shared_ptr<Stream>> streams_;
  std::map<std::byte*, std::size_t> pinned_;
  std::set<DeviceStream> capturing_;
  std::uintptr_t next_handle_ = 0;
};

class EmulatedRuntime final : public DeviceRuntime {
 public:
  [[nodiscard]] std::string_view name() const override { return "emulated"; }
  [[nodiscard]] int devices() const override { return emulated::devices; }
  [[nodiscard]] std::string device_name(int number) const override {
    return "emulated device " + std::to_string(number);
  }
  [[nodiscard]] int current_device() const override { return current; }
  void set_device(int number) override {
    expect_working("set_device");
    if (number < 0 || number >= emulated::devices)
      throw DeviceError(ErrorKind::transport,
                        "set_device: there is no device " + std::to_string(number), false);
    current = number;
  }

  [[nodiscard]] void* allocate(std::size_t bytes) override {
    expect_working("allocate");
    void* const memory = Arena::instance().allocate(std::max<std::size_t>(bytes, 1), current);
    if (memory == nullptr)
      throw DeviceError(ErrorKind::memory,
                        "allocate: no device memory for " + std::to_string(bytes) + " bytes",
                        false);
    return memory;
  }
  void free(void* memory) noexcept override {
    if (memory != nullptr && !Arena::instance().free(memory)) std::abort();
  }
  [[nodiscard]] void* allocate_pinned(std::size_t bytes) override {
    expect_working("allocate_pinned");
    const std::size_t room = std::max<std::size_t>((bytes + 255) / 256 * 256, 256);
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(256, room));
    if (memory == nullptr) throw DeviceError(ErrorKind::memory, "no pinned memory", false);
    std::memset(memory, 0xcd, room);
    Shared::instance().add_pinned(memory, room);
    return memory;
  }
  void free_pinned(void* memory) noexcept override {
    if (memory == nullptr) return;
    Shared::instance().remove_pinned(static_cast<std::byte*>(memory));
    std::free(memory);
  }

  void copy_to_device(void* to, const void* host, std::size_t bytes, DeviceStream stream) override {
    copy(to, host, bytes, stream);
  }
  void copy_to_host(void* host, const void* from, std::size_t bytes, DeviceStream stream) override {
    copy(host, from, bytes, stream);
  }
  void copy_within(void* to, const void* from, std::size_t bytes, DeviceStream stream) override {
    copy(to, from, bytes, stream);
  }
  void fill(void* memory, std::uint8_t byte, std::size_t bytes, DeviceStream stream) override {
    expect_working("fill");
    void* const at = Arena::instance().view(memory);
    device::enqueue(stream, [=] { std::memset(at, byte, bytes); });
  }

  [[nodiscard]] DeviceStream make_stream() override {
    expect_working("make_stream");
    return Shared::instance().add_stream();
  }
  void destroy_stream(DeviceStream stream) noexcept override {
    Shared::instance().remove_stream(stream);
  }
  void synchronise(DeviceStream stream) override {
    expect_working("synchronise");
    if (capturing(stream))
      throw DeviceError(ErrorKind::unsupported,
                        "synchronise: operation not permitted when stream is capturing", false);
    const auto works = Shared::instance().stream(stream);
    works->do_until(works->last());
    expect_working("synchronise");
  }

  void synchronise_device() override {
    expect_working("synchronise_device");
    for (const auto& stream : Shared::instance().streams()) stream->do_until(stream->last());
    expect_working("synchronise_device");
  }

  [[nodiscard]] DeviceEvent make_event() override {
    expect_working("make_event");
    return reinterpret_cast<DeviceEvent>(new Event());
  }
  void destroy_event(DeviceEvent event) noexcept override { delete of(event); }
  void record(DeviceEvent event, DeviceStream stream) override {
    expect_working("record");
    auto works = Shared::instance().stream(stream);
    const std::uint64_t number = works->last();
    *of(event) = {std::move(works), number};
  }
  [[nodiscard]] bool done(DeviceEvent event) override {
    expect_working("done");
    const Event& found = *of(event);
    if (!found.stream || found.stream->is_done(found.number)) return true;
    found.stream->do_one();
    return false;
  }
  void wait(DeviceEvent event) override {
    expect_working("wait");
    const Event& found = *of(event);
    if (found.stream) found.stream->do_until(found.number);
  }
  void let_wait(DeviceStream stream, DeviceEvent event) override {
    expect_working("let_wait");
    const Event found = *of(event);
    if (!found.stream || found.stream == Shared::instance().stream(stream)) return;
    device::enqueue(stream, [found] { found.stream->do_until(found.number); });
  }

  [[nodiscard]] PointerPlace place_of(const void* address) const override {
    if (Arena::instance().holds(address))
      return {PointerKind::device, Arena::instance().device_of(address)};
    if (Shared::instance().is_pinned(address)) return {PointerKind::pinned, -1};
    return {};
  }
  [[nodiscard]] bool capturing(DeviceStream stream) const override {
    return Shared::instance().capturing(stream);
  }
  void check() override { expect_working("an earlier call"); }

 private:
  static Event* of(DeviceEvent event) { return reinterpret_cast<Event*>(event); }

  /// Memory of the host that is not pinned is read before the call returns, and written before it does.
  static void copy(void* to, const void* from, std::size_t bytes, DeviceStream stream) {
    expect_working("copy");
    if (bytes == 0) return;
    const Arena& arena = Arena::instance();
    const auto reachable = [&](const void* address) {
      return arena.holds(address) || Shared::instance().is_pinned(address);
    };
    void* const target = arena.view(to);
    if (!reachable(from)) {
      auto snapshot = std::make_shared<std::byte[]>(bytes);
      std::memcpy(snapshot.get(), from, bytes);
      device::enqueue(stream, [=] { std::memcpy(target, snapshot.get(), bytes); });
    } else {
      const void* const source = arena.view(from);
      device::enqueue(stream, [=] { std::memcpy(target, source, bytes); });
    }
    if (reachable(to)) return;
    const auto works = Shared::instance().stream(stream);
    works->do_until(works->last());
  }
};

}  // namespace

namespace device {

void enqueue(DeviceStream stream, std::function<void()> work) {
  expect_working("launch of a kernel");
  Shared::instance().stream(stream)->put(std::move(work));
}

DeviceRuntime& emulated_device_runtime() {
  static EmulatedRuntime& runtime = *new EmulatedRuntime();
  return runtime;
}

}  // namespace device

namespace emulated {

void set_capacity(std::size_t bytes) { Arena::instance().set_capacity(bytes); }
std::size_t allocated() { return Arena::instance().allocated(); }
void break_device() { broken = true; }
void set_capturing(DeviceStream stream, bool capturing) {
  Shared::instance().set_capturing(stream, capturing);
}
void restore() {
  broken = false;
  Shared::instance().stop_capturing();
  Arena::instance().set_capacity(std::size_t{4} << 30);
}

void read(void* host, const void* device, std::size_t bytes) {
  std::memcpy(host, Arena::instance().view(device), bytes);
}
void write(void* device, const void* host, std::size_t bytes) {
  std::memcpy(Arena::instance().view(device), host, bytes);
}

}  // namespace emulated
}  // namespace cohom::kernels
