#include "kernels/device_runtime/emulated/emulated_runtime.hpp"

#include "kernels/device_runtime/emulated/arena.hpp"
#include "kernels/device_runtime/emulated/device_state.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace cohom::kernels {
namespace {

using device::Arena;
using device::broken;
using device::current;
using device::DeviceState;
using device::Event;
using device::wait_for_all;

std::atomic<bool> quick_copies = false;
std::atomic<ComputeCapability> capabilities[emulated::devices];
std::atomic<unsigned> lives = 1;

void expect_working(const char* call) {
  if (broken)
    throw DeviceError(
        ErrorKind::transport,
        std::string(call) +
            ": an illegal memory access was encountered; the device cannot be used by "
            "this process any more",
        true);
}

/// Of what a thread may not do while it captures.
void expect_no_capture(const char* call) {
  expect_working(call);
  if (DeviceState::instance().break_captures())
    throw DeviceError(ErrorKind::unsupported,
                      std::string(call) + ": operation not permitted when stream is capturing",
                      false);
}

class EmulatedRuntime final : public DeviceRuntime {
 public:
  [[nodiscard]] std::string_view name() const override { return "emulated"; }
  [[nodiscard]] std::string versions() const override { return "no driver: it is emulated"; }
  [[nodiscard]] int devices() const override { return emulated::devices; }
  [[nodiscard]] std::string device_name(int number) const override {
    return "emulated device " + std::to_string(number);
  }
  [[nodiscard]] ComputeCapability capability(int number) const override {
    const ComputeCapability set = capabilities[number];
    return set == ComputeCapability{} ? ComputeCapability{8, 0} : set;
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
    expect_no_capture("allocate");
    void* const memory = Arena::instance().allocate(std::max<std::size_t>(bytes, 1), current);
    if (memory == nullptr)
      throw DeviceError(ErrorKind::memory,
                        "allocate: no device memory for " + std::to_string(bytes) +
                            " bytes, device " + std::to_string(current),
                        false);
    return memory;
  }
  void free(void* memory) noexcept override {
    if (memory == nullptr) return;
    DeviceState::instance().break_captures();
    wait_for_all();
    if (!Arena::instance().free(memory)) std::abort();
  }
  [[nodiscard]] void* allocate_pinned(std::size_t bytes) override {
    expect_no_capture("allocate_pinned");
    wait_for_all();
    const std::size_t capacity = std::max<std::size_t>((bytes + 255) / 256 * 256, 256);
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(256, capacity));
    if (memory == nullptr) throw DeviceError(ErrorKind::memory, "no pinned memory", false);
    std::memset(memory, 0xcd, capacity);
    DeviceState::instance().add_pinned(memory, capacity);
    return memory;
  }
  void free_pinned(void* memory) noexcept override {
    if (memory == nullptr) return;
    DeviceState::instance().break_captures();
    wait_for_all();
    DeviceState::instance().remove_pinned(static_cast<std::byte*>(memory));
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
    return DeviceState::instance().add_stream();
  }
  /// Its work is done some time or other.
  void destroy_stream(DeviceStream stream) noexcept override {
    DeviceState::instance().stream(stream)->do_all();
    DeviceState::instance().remove_stream(stream);
  }
  void synchronise(DeviceStream stream) override {
    expect_no_capture("synchronise");
    DeviceState::instance().stream(stream)->do_all();
    expect_working("synchronise");
  }

  void synchronise_device() override {
    expect_no_capture("synchronise_device");
    for (const auto& stream : DeviceState::instance().streams())
      if (stream->device() == current) stream->do_all();
    expect_working("synchronise_device");
  }

  [[nodiscard]] DeviceEvent make_event() override {
    expect_working("make_event");
    return reinterpret_cast<DeviceEvent>(new Event{.device = current});
  }
  void destroy_event(DeviceEvent event) noexcept override { delete of(event); }
  void record(DeviceEvent event, DeviceStream stream) override {
    expect_working("record");
    auto works = DeviceState::instance().stream(stream);
    if (works->device() != of(event)->device)
      throw DeviceError(ErrorKind::transport, "record: invalid resource handle", false);
    of(event)->number = works->last();
    of(event)->stream = std::move(works);
  }
  [[nodiscard]] bool done(DeviceEvent event) override {
    expect_no_capture("done");
    const Event& found = *of(event);
    if (!found.stream || found.stream->is_done(found.number)) return true;
    found.stream->do_one();
    return false;
  }
  void wait(DeviceEvent event) override {
    expect_no_capture("wait");
    const Event& found = *of(event);
    if (found.stream) found.stream->do_until(found.number);
  }
  void let_wait(DeviceStream stream, DeviceEvent event) override {
    expect_working("let_wait");
    const Event found = *of(event);
    const auto works = DeviceState::instance().stream(stream);
    if (found.stream && found.stream != works) works->put_behind(found.stream, found.number);
  }

  [[nodiscard]] PointerLocation location_of(const void* address) const override {
    if (Arena::instance().holds(address))
      return {PointerKind::device, Arena::instance().device_of(address)};
    if (DeviceState::instance().is_pinned(address)) return {PointerKind::pinned, -1};
    if (const int device = DeviceState::instance().device_of_managed(address); device >= 0)
      return {PointerKind::device, device};
    return {};
  }
  [[nodiscard]] bool capturing(DeviceStream stream) const override {
    return DeviceState::instance().capturing(stream);
  }
  [[nodiscard]] bool capturing_here() const override {
    return DeviceState::instance().capture_shows();
  }
  [[nodiscard]] bool has(DeviceStream stream) override {
    expect_no_capture("has");
    return DeviceState::instance().stream(stream)->device() == current;
  }
  void check() override { expect_working("an earlier call"); }

 private:
  static Event* of(DeviceEvent event) { return reinterpret_cast<Event*>(event); }

  static void put_copy(DeviceStream stream, std::function<void()> copy) {
    const auto works = DeviceState::instance().stream(stream);
    if (quick_copies)
      works->put_quick(std::move(copy));
    else
      works->put(std::move(copy));
  }

  /// Memory of the host that is not pinned is read before the call returns, and written before it
  /// does.
  static void copy(void* to, const void* from, std::size_t bytes, DeviceStream stream) {
    expect_working("copy");
    if (bytes == 0) return;
    const Arena& arena = Arena::instance();
    const auto reachable = [&](const void* address) {
      DeviceState& state = DeviceState::instance();
      return arena.holds(address) || state.is_pinned(address) ||
             state.device_of_managed(address) >= 0;
    };
    void* const target = arena.view(to);
    if (!reachable(from)) {
      auto snapshot = std::make_shared<std::byte[]>(bytes);
      std::memcpy(snapshot.get(), from, bytes);
      put_copy(stream, [=] { std::memcpy(target, snapshot.get(), bytes); });
    } else {
      const void* const source = arena.view(from);
      put_copy(stream, [=] { std::memcpy(target, source, bytes); });
    }
    if (!reachable(to)) DeviceState::instance().stream(stream)->do_all();
  }
};

}  // namespace

namespace device {

int current_device() { return current; }
unsigned life() { return lives; }

void wait_for_all() noexcept {
  for (const auto& stream : DeviceState::instance().streams()) stream->do_all();
}

void enqueue(DeviceStream stream, std::function<void()> work) {
  expect_working("launch of a kernel");
  DeviceState::instance().stream(stream)->put(std::move(work));
}

DeviceRuntime& emulated_device_runtime() {
  static EmulatedRuntime& runtime = *new EmulatedRuntime();
  return runtime;
}

}  // namespace device

namespace emulated {

void set_capacity(std::size_t bytes) { Arena::instance().set_capacity(bytes); }
std::size_t allocated() { return Arena::instance().allocated(); }
void* allocate_managed(std::size_t bytes) {
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  if (memory == nullptr) throw DeviceError(ErrorKind::memory, "no managed memory", false);
  DeviceState::instance().add_managed(memory, bytes, current);
  return memory;
}
void free_managed(void* memory) {
  device::wait_for_all();
  DeviceState::instance().remove_managed(static_cast<std::byte*>(memory));
  std::free(memory);
}
void set_capability(int device, ComputeCapability capability) { capabilities[device] = capability; }
void break_device() { broken = true; }
void set_capturing(DeviceStream stream, bool capturing, bool shows) {
  if (capturing)
    DeviceState::instance().start_capture(stream, shows);
  else
    DeviceState::instance().stop_capture(stream);
}
bool capture_broken(DeviceStream stream) { return DeviceState::instance().capture_broken(stream); }
void hold(DeviceStream stream, bool now) { DeviceState::instance().stream(stream)->hold(now); }
unsigned waits_for_held() { return device::waits_for_held; }
void set_quick_copies(bool quick) { quick_copies = quick; }
void restore() {
  broken = false;
  quick_copies = false;
  for (auto& capability : capabilities) capability = ComputeCapability{};
  device::waits_for_held = 0;
  ++lives;
  DeviceState::instance().stop_captures();
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
