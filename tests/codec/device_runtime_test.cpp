// The emulated device keeps the rules of a device, and contexts keep to them, too.

#include "codecs/codec_table.hpp"
#include "kernels/device_runtime/device_context.hpp"
#include "kernels/device_runtime/emulated/emulated_runtime.hpp"
#include "kernels/table/kernel_table.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace cohom::test {
namespace {

using kernels::DeviceContext;
using kernels::DeviceError;
using kernels::DeviceRuntime;
using kernels::DeviceScope;
using kernels::PointerKind;

class EmulatedDevice : public testing::Test {
 protected:
  ~EmulatedDevice() override { kernels::emulated::restore(); }

  /// Device memory for as long as the test takes.
  template <class T>
  T* allocate(std::size_t count) {
    return static_cast<T*>(memory_.emplace_back(runtime_, count * sizeof(T)).address);
  }

  const kernels::DeviceLibrary& library_ = kernels::emulated_device();
  DeviceRuntime& runtime_ = *library_.runtime;

 private:
  struct Memory {
    Memory(DeviceRuntime& runtime, std::size_t bytes)
        : runtime_(&runtime), address(runtime.allocate(bytes)) {}
    Memory(Memory&& other) noexcept
        : runtime_(other.runtime_), address(std::exchange(other.address, nullptr)) {}
    Memory& operator=(Memory&&) = delete;
    ~Memory() { runtime_->free(address); }

    DeviceRuntime* runtime_;
    void* address;
  };
  std::vector<Memory> memory_;
};

TEST_F(EmulatedDevice, HostCannotReachItsMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto* const memory = allocate<int>(10);
  EXPECT_DEATH(*static_cast<volatile int*>(memory) = 1, "");
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile int*>(memory)), "");
}

TEST_F(EmulatedDevice, CopiesGoThereAndBackInOrder) {
  const std::vector<int> values = {1, 2, 3, 4};
  auto* const first = allocate<int>(4);
  auto* const second = allocate<int>(4);
  std::vector<int> host = values;
  runtime_.copy_to_device(first, host.data(), 16, nullptr);
  host.assign(4, 0);  // no pinned memory: it was read
  runtime_.copy_within(second, first, 16, nullptr);
  runtime_.fill(first, 0, 16, nullptr);
  runtime_.copy_to_host(host.data(), second, 16, nullptr);
  EXPECT_EQ(host, values);
}

TEST_F(EmulatedDevice, PinnedMemoryIsReadLate) {
  auto* const pinned = static_cast<int*>(runtime_.allocate_pinned(4));
  auto* const memory = allocate<int>(1);
  *pinned = 1;
  runtime_.copy_to_device(memory, pinned, 4, nullptr);
  *pinned = 2;  // who does this has not waited
  runtime_.synchronise(nullptr);
  int found = 0;
  runtime_.copy_to_host(&found, memory, 4, nullptr);
  EXPECT_EQ(found, 2);
  runtime_.free_pinned(pinned);
}

TEST_F(EmulatedDevice, EventsAreDoneWhenTheirStreamIs) {
  const auto stream = runtime_.make_stream();
  const auto event = runtime_.make_event();
  EXPECT_TRUE(runtime_.done(event));
  auto* const memory = allocate<int>(1);
  runtime_.fill(memory, 0, 4, stream);
  runtime_.fill(memory, 1, 4, stream);
  runtime_.record(event, stream);
  int polls = 0;
  while (!runtime_.done(event)) ++polls;
  EXPECT_EQ(polls, 2);
  runtime_.let_wait(nullptr, event);
  runtime_.synchronise(nullptr);
  runtime_.destroy_event(event);
  runtime_.destroy_stream(stream);
}

/// Who asks drives what a stream waits for, too, a work at a time; who asks for a held one gets
/// nowhere.
TEST_F(EmulatedDevice, AskingDoesNotWait) {
  const auto first = runtime_.make_stream(), second = runtime_.make_stream();
  const auto end_of_first = runtime_.make_event(), end = runtime_.make_event();
  auto* const memory = allocate<int>(1);
  runtime_.fill(memory, 1, 4, first);
  runtime_.record(end_of_first, first);
  runtime_.let_wait(second, end_of_first);
  runtime_.record(end, second);
  kernels::emulated::hold(first, true);
  for (int poll = 0; poll < 10; ++poll) EXPECT_FALSE(runtime_.done(end));
  EXPECT_EQ(kernels::emulated::waits_for_held(), 0u);
  kernels::emulated::hold(first, false);
  int polls = 0;
  while (!runtime_.done(end)) ++polls;
  EXPECT_EQ(polls, 2);
  for (const auto event : {end_of_first, end}) runtime_.destroy_event(event);
  for (const auto stream : {first, second}) runtime_.destroy_stream(stream);
}

TEST_F(EmulatedDevice, MemoryThatIsGivenBackOrPinnedWaitsForAllStreams) {
  const auto stream = runtime_.make_stream();
  auto* const memory = allocate<int>(1);
  kernels::emulated::hold(stream, true);
  const auto waits = [&](auto&& call) {
    const unsigned before = kernels::emulated::waits_for_held();
    runtime_.fill(memory, 1, 4, stream);
    call();
    const bool found = kernels::emulated::waits_for_held() != before;
    kernels::emulated::hold(stream, false);
    runtime_.synchronise(stream);
    kernels::emulated::hold(stream, true);
    return found;
  };
  void *other = nullptr, *pinned = nullptr;
  EXPECT_FALSE(waits([&] { other = runtime_.allocate(4); }));
  EXPECT_TRUE(waits([&] { runtime_.free(other); }));
  EXPECT_TRUE(waits([&] { pinned = runtime_.allocate_pinned(4); }));
  EXPECT_TRUE(waits([&] { runtime_.free_pinned(pinned); }));
  runtime_.destroy_stream(stream);
}

TEST_F(EmulatedDevice, QuickCopiesOvertakeOtherStreams) {
  auto* const memory = allocate<int>(1);
  auto* const pinned = static_cast<int*>(runtime_.allocate_pinned(4));
  const auto copies = runtime_.make_stream();
  *pinned = 1;
  for (const bool quick : {false, true}) {
    kernels::emulated::set_quick_copies(quick);
    runtime_.fill(memory, 0, 4, nullptr);
    runtime_.copy_to_device(memory, pinned, 4, copies);
    runtime_.synchronise(nullptr);
    runtime_.synchronise(copies);
    int found = 0;
    kernels::emulated::read(&found, memory, 4);
    EXPECT_EQ(found, quick ? 0 : 1);
  }
  runtime_.destroy_stream(copies);
  runtime_.free_pinned(pinned);
}

/// Each device has a default stream of its own, and no event of it marks another device's stream.
TEST_F(EmulatedDevice, StreamsAreOfADevice) {
  const auto stream = runtime_.make_stream();
  runtime_.set_device(1);
  const auto event = runtime_.make_event();
  EXPECT_THROW(runtime_.record(event, stream), DeviceError);
  EXPECT_NO_THROW(runtime_.record(event, nullptr));
  runtime_.set_device(0);
  EXPECT_THROW(runtime_.record(event, nullptr), DeviceError);
  runtime_.destroy_event(event);
  runtime_.destroy_stream(stream);
}

TEST_F(EmulatedDevice, KnowsWhoseAddressesAre) {
  int host = 0;
  EXPECT_EQ(runtime_.location_of(&host).kind, PointerKind::host);
  auto* const memory = allocate<int>(1);
  EXPECT_EQ(runtime_.location_of(memory).kind, PointerKind::device);
  EXPECT_EQ(runtime_.location_of(memory).device, 0);
  auto* const pinned = static_cast<std::byte*>(runtime_.allocate_pinned(100));
  EXPECT_EQ(runtime_.location_of(pinned + 99).kind, PointerKind::pinned);
  runtime_.free_pinned(pinned);
  runtime_.set_device(1);
  EXPECT_EQ(runtime_.location_of(allocate<int>(1)).device, 1);
  runtime_.set_device(0);
  EXPECT_THROW(runtime_.set_device(2), DeviceError);
}

TEST_F(EmulatedDevice, FailsAsDevicesDo) {
  kernels::emulated::set_capacity(kernels::emulated::allocated() + 1000);
  EXPECT_NO_THROW(allocate<std::byte>(900));
  try {
    allocate<std::byte>(200);
    FAIL() << "more memory than there is";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory);
    EXPECT_FALSE(error.sticky());
  }
  kernels::emulated::set_capturing(nullptr, true);
  EXPECT_TRUE(runtime_.capturing(nullptr));
  EXPECT_THROW(runtime_.synchronise(nullptr), DeviceError);
  kernels::emulated::break_device();
  try {
    runtime_.check();
    FAIL() << "a broken device works";
  } catch (const DeviceError& error) {
    EXPECT_TRUE(error.sticky());
  }
}

TEST_F(EmulatedDevice, KernelsWantAContext) {
  auto* const memory = allocate<float>(4);
  EXPECT_THROW(library_.kernels->finish_elements(ElementType::f32, memory, 4, 1, memory), Error);
  DeviceContext outer(library_, nullptr), inner(library_, nullptr);
  const DeviceScope scope(outer);
  { const DeviceScope nested(inner); }
  EXPECT_NO_THROW(library_.kernels->finish_elements(ElementType::f32, memory, 4, 1, memory));
}

TEST_F(EmulatedDevice, KernelsWantAlignedElements) {
  auto* const memory = allocate<std::byte>(64);
  DeviceContext context(library_, nullptr);
  const DeviceScope scope(context);
  EXPECT_THROW(library_.kernels->finish_elements(ElementType::f32, memory + 2, 4, 1, memory),
               Error);
}

/// A row that says nothing of devices runs on copies, and nothing else shows that.
TEST_F(EmulatedDevice, HasKernelsOfCodecsThatDoNotSayWhyNot) {
  for (const CodecRow& codec : codec_table()) {
    const DeviceForm& form = codec.device;
    if (form.has_kernels != nullptr) {
      EXPECT_TRUE(form.has_kernels(*library_.kernels)) << codec.info.name;
      EXPECT_TRUE(form.why_none.empty()) << codec.info.name << " has kernels";
    } else {
      EXPECT_FALSE(form.why_none.empty())
          << "the row of " << codec.info.name
          << " has no device: it should have .has_kernels, or .why_none";
    }
  }
}

/// What is on its way to the device is not overwritten, however much follows it.
TEST_F(EmulatedDevice, ContextsWaitBeforeTheyReuseStaging) {
  DeviceContext context(library_, nullptr);
  constexpr std::size_t count = 5000, calls = 60;
  auto* const results = allocate<std::uint64_t>(count * calls);
  std::vector<std::uint64_t> numbers(count), expected;
  for (std::size_t call = 0; call < calls; ++call) {
    std::iota(numbers.begin(), numbers.end(), call * 1'000'000);
    expected.insert(expected.end(), numbers.begin(), numbers.end());
    context.begin_call();
    const void* const uploaded = context.upload(numbers.data(), count * 8);
    runtime_.copy_within(results + call * count, uploaded, count * 8, nullptr);
  }
  std::vector<std::uint64_t> found(expected.size());
  context.download(found.data(), results, found.size() * 8);
  EXPECT_EQ(found, expected);
}

TEST_F(EmulatedDevice, ScratchOfACallStaysApartAndGrows) {
  DeviceContext context(library_, nullptr);
  for (int call = 0; call < 3; ++call) {
    context.begin_call();
    auto* const small = static_cast<std::byte*>(context.scratch(100));
    auto* const large = static_cast<std::byte*>(context.scratch(std::size_t{5} << 20));
    auto* const last = static_cast<std::byte*>(context.scratch(300));
    runtime_.fill(small, 1, 100, nullptr);
    runtime_.fill(large, 2, std::size_t{5} << 20, nullptr);
    runtime_.fill(last, 3, 300, nullptr);
    std::byte found[2];
    context.download(found, small + 99, 1);
    EXPECT_EQ(found[0], std::byte{1});
    context.download(found, large + (std::size_t{5} << 20) - 1, 1);
    EXPECT_EQ(found[0], std::byte{2});
  }
}

/// Whatever a call asks for: its scratch grows, and what the bus takes goes in pieces.
TEST_F(EmulatedDevice, ContextsGiveNothingBackAndPinNothingInCalls) {
  const auto held = runtime_.make_stream();
  auto* const memory = allocate<int>(1);
  DeviceContext context(library_, nullptr);
  context.reserve(1000);
  kernels::emulated::hold(held, true);
  runtime_.fill(memory, 1, 4, held);
  std::vector<std::uint32_t> values(std::size_t{3} << 20), back(values.size());
  std::iota(values.begin(), values.end(), 7u);
  for (int call = 0; call < 3; ++call) {
    context.begin_call();
    const void* const uploaded = context.upload(values.data(), values.size() * 4);
    static_cast<void>(context.scratch(std::size_t{40} << 20 >> call));
    context.download(back.data(), uploaded, values.size() * 4);
    EXPECT_EQ(back, values);
  }
  EXPECT_EQ(kernels::emulated::waits_for_held(), 0u);
  runtime_.destroy_stream(held);
}

/// As drivers do that load kernels when they are needed.
TEST_F(EmulatedDevice, FirstLaunchesWaitUnlessKernelsAreLoaded) {
  kernels::emulated::restore();
  const auto held = runtime_.make_stream();
  auto* const memory = allocate<float>(4);
  const auto waits = [&] {
    DeviceContext context(library_, nullptr);
    const DeviceScope scope(context);
    kernels::emulated::hold(held, true);
    runtime_.fill(memory, 0, 4, held);
    const unsigned before = kernels::emulated::waits_for_held();
    library_.kernels->finish_elements(ElementType::f32, memory, 4, 1, memory);
    const bool found = kernels::emulated::waits_for_held() != before;
    kernels::emulated::hold(held, false);
    runtime_.synchronise(held);
    return found;
  };
  EXPECT_TRUE(waits());
  EXPECT_FALSE(waits());
  kernels::emulated::restore();
  EXPECT_TRUE(waits());
  kernels::emulated::restore();
  library_.load();
  EXPECT_FALSE(waits());
  runtime_.destroy_stream(held);
}

/// A call that finds no memory leaves a context with which the next one works, and one that cannot
/// be made leaves nothing.
TEST_F(EmulatedDevice, ContextsGoOnAfterAFailure) {
  const std::size_t before = kernels::emulated::allocated();
  kernels::emulated::set_capacity(before + 1000);
  {
    DeviceContext context(library_, nullptr);
    EXPECT_THROW(context.reserve(0), DeviceError);
  }
  EXPECT_EQ(kernels::emulated::allocated(), before);
  kernels::emulated::restore();

  DeviceContext context(library_, nullptr);
  context.begin_call();
  EXPECT_NE(context.scratch(std::size_t{5} << 20), nullptr);
  kernels::emulated::set_capacity(kernels::emulated::allocated() + 1000);
  EXPECT_THROW(static_cast<void>(context.scratch(std::size_t{7} << 20)), DeviceError);
  kernels::emulated::restore();

  context.begin_call();
  const std::vector<int> values = {3, 1, 4};
  const void* const there = context.upload(values.data(), 3 * sizeof(int));
  std::vector<int> back(3);
  context.download(back.data(), there, 3 * sizeof(int));
  EXPECT_EQ(back, values);
}

}  // namespace
}  // namespace cohom::test
