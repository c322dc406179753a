// What goes wrong with a device: one clear message on all ranks, nobody hangs, and the communicator
// goes on or says why it cannot.

#include "device_vector.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cohom::test {
namespace {

constexpr int ranks = 3;
constexpr std::size_t count = 20011;
const Options options{.codec = "raw", .algorithm = "ring"};

std::optional<Error> failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

void expect_failure(const std::optional<Error>& found, ErrorKind kind,
                    const std::vector<std::string>& words) {
  ASSERT_TRUE(found.has_value()) << "no error";
  EXPECT_EQ(name_of(found->kind()), name_of(kind)) << found->what();
  for (const std::string& word : words)
    EXPECT_NE(std::string(found->what()).find(word), std::string::npos)
        << found->what() << " does not say: " << word;
}

class DeviceErrors : public testing::Test {
 protected:
  void expect_good_host_call(Communicator& communicator) const {
    Bytes data = inputs_.bytes(communicator.rank());
    allreduce(data.data(), data.data(), count, ElementType::f32, communicator, options);
    EXPECT_LT(inputs_.error_of(data), 1e-10);
  }
  void expect_good_device_call(Communicator& communicator) const {
    const DeviceVector data(inputs_.bytes(communicator.rank()));
    allreduce(data.data(), data.data(), count, ElementType::f32, communicator, options);
    EXPECT_LT(inputs_.error_of(data.fetch()), 1e-10);
  }
  static std::optional<Error> reduce(const void* input, void* output, Communicator& communicator) {
    return failure_of(
        [&] { allreduce(input, output, count, ElementType::f32, communicator, options); });
  }

  void SetUp() override {
    if (tested_runtime().name() != "emulated")
      GTEST_SKIP() << "only the emulated device fails on demand";
  }

  WithDevice device_;
  RankInputs inputs_{ranks, ElementType::f32, count};
};

TEST_F(DeviceErrors, DeviceMemoryWithoutALibrary) {
  set_device_library(nullptr, "libcuda.so.1: no such file");
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector data(inputs_.bytes(rank));
    for (const char* which : {"input", "output"}) {
      Bytes host = inputs_.bytes(rank);
      const bool bad_rank = rank == 1;
      const bool input = which == std::string("input");
      const auto found = reduce(bad_rank && input ? data.data() : host.data(),
                                bad_rank && !input ? data.data() : host.data(), communicator);
      expect_failure(found, ErrorKind::unsupported,
                     {"rank 1: ", which, "not the host's memory", "libcuda.so.1: no such file"});
      expect_good_host_call(communicator);
    }
  });
}

/// Not the words of a kernel that does not start, in the middle of a call of which others know
/// nothing.
TEST_F(DeviceErrors, ADeviceThatRunsNoneOfTheCode) {
  kernels::emulated::set_capability(1, {7, 5});
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector data(inputs_.bytes(rank), rank == 1 ? 1 : 0);
    AllreducePlan plan(communicator, count, ElementType::f32, options);
    const auto expect = [&](const std::optional<Error>& found) {
      expect_failure(found, ErrorKind::unsupported,
                     {"rank 1: device 1 (emulated device 1) has compute capability 7.5",
                      "compute_80", "COHOM_CUDA_ARCHITECTURES=75"});
    };
    const std::uint64_t before = communicator.wire_counters().bytes_sent;
    expect(failure_of([&] { plan.execute(data.data(), data.data()); }));
    EXPECT_LT(communicator.wire_counters().bytes_sent - before, count) << "more than an agreement";
    expect(reduce(data.data(), data.data(), communicator));
    expect_good_device_call(communicator);
  });
}

TEST_F(DeviceErrors, BuffersOnTwoDevices) {
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector input(inputs_.bytes(rank), 0), output(count * 4, rank == 2 ? 1 : 0);
    expect_failure(reduce(input.data(), output.data(), communicator), ErrorKind::invalid_argument,
                   {"rank 2: ", "input lies on device 0 and output on device 1"});
    expect_good_device_call(communicator);
  });
}

/// It need not be the calling thread's device.
TEST_F(DeviceErrors, AnotherDeviceIsNoError) {
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector data(inputs_.bytes(rank), 1);
    EXPECT_FALSE(reduce(data.data(), data.data(), communicator).has_value());
    EXPECT_LT(inputs_.error_of(data.fetch()), 1e-10);
    EXPECT_EQ(tested_runtime().current_device(), 0);
  });
}

TEST_F(DeviceErrors, MemoryThatWasFreed) {
  std::barrier<> all_are_done(ranks);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    void* gone = nullptr;
    {
      const DeviceVector data(inputs_.bytes(rank));
      gone = data.data();
    }
    const DeviceVector good(inputs_.bytes(rank));
    void* const buffer = rank == 0 ? gone : good.data();
    const auto found = reduce(buffer, buffer, communicator);
    all_are_done.arrive_and_wait();
    // Another rank's vector may lie there by now: rank 0 writes to it until it is done.
    if (found)
      expect_failure(found, ErrorKind::invalid_argument, {"rank 0: ", "nothing is allocated"});
  });
}

TEST_F(DeviceErrors, RanksWithBuffersInDifferentMemory) {
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector data(inputs_.bytes(rank));
    Bytes host = inputs_.bytes(rank);
    void* const buffer = rank == 1 ? data.data() : host.data();
    expect_failure(reduce(buffer, buffer, communicator), ErrorKind::mismatch,
                   {"ranks disagree on", "memory space"});
    expect_good_device_call(communicator);
    expect_good_host_call(communicator);
  });
}

TEST_F(DeviceErrors, AStreamUnderCapture) {
  auto& runtime = tested_runtime();
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector data(inputs_.bytes(rank));
    const kernels::DeviceStream stream = runtime.make_stream();
    if (rank == 2) kernels::emulated::set_capturing(stream, true);
    const auto found = failure_of([&] {
      allreduce_async(data.data(), data.data(), count, ElementType::f32, communicator, options,
                      {stream})
          .wait();
    });
    expect_failure(found, ErrorKind::invalid_argument, {"rank 2: ", "captured into a graph"});
    kernels::emulated::set_capturing(stream, false);
    runtime.destroy_stream(stream);
    expect_good_device_call(communicator);
  });
}

/// Neither the plan's memory is taken, nor is the graph spoilt by a call that has no place in it:
/// blocking ones wait for the device, and those behind another stream ask how far it is.
TEST_F(DeviceErrors, AThreadThatCaptures) {
  auto& runtime = tested_runtime();
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const Bytes before(count * 4, std::byte{0x11});
    const DeviceVector input(inputs_.bytes(rank)), output(before);
    AllreducePlan plan(communicator, count, ElementType::f32, options);
    const kernels::DeviceStream captured = runtime.make_stream(), other = runtime.make_stream();
    for (const bool shows : {true, false}) {
      const auto failure = [&](const std::function<void()>& call) {
        if (rank == 2) kernels::emulated::set_capturing(captured, true, shows);
        auto found = failure_of(call);
        if (rank == 2) {
          EXPECT_EQ(kernels::emulated::capture_broken(captured), !shows);
          kernels::emulated::set_capturing(captured, false);
        }
        return found;
      };
      const std::vector<std::string> words = {"rank 2: ", "into a graph", "end the capture"};
      const auto expect = [&](const std::function<void()>& call) {
        expect_failure(failure(call), ErrorKind::invalid_argument, words);
      };
      expect([&] {
        allreduce(input.data(), output.data(), count, ElementType::f32, communicator, options);
      });
      expect([&] {
        allreduce_async(input.data(), output.data(), count, ElementType::f32, communicator, options,
                        {other})
            .wait();
      });
      expect([&] { plan.execute(input.data(), output.data()); });
      expect([&] { plan.prepare(input.data(), output.data()); });
    }
    EXPECT_TRUE(same_bytes(output.fetch(), before));
    if (rank == 2) EXPECT_EQ(plan.describe().memory, "host");
    for (const auto stream : {captured, other}) runtime.destroy_stream(stream);
    expect_good_device_call(communicator);
  });
}

/// A stream that has come to the call is no reason to wait for ever, also where the codec keeps
/// state and the call begins when all ranks agree.
TEST_F(DeviceErrors, ARankThatNeverCallsBehindAStream) {
  for (const char* codec : {"raw", "thc:error_feedback=on"}) {
    SCOPED_TRACE(codec);
    const Watchdog watchdog("a call behind a stream that one rank does not make");
    const Options impatient{
        .codec = codec, .algorithm = "ring", .buffer = "gradient", .timeout = 0.1};
    std::atomic<int> waiting = ranks - 1;
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      if (rank == 1) {
        while (waiting > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return;
      }
      const DeviceVector data(inputs_.bytes(rank));
      expect_failure(failure_of([&] {
                       allreduce_async(data.data(), data.data(), count, ElementType::f32,
                                       communicator, impatient, {nullptr})
                           .wait();
                     }),
                     ErrorKind::transport, {"no progress for 0.1 s, the timeout: waits for rank "});
      --waiting;
    });
  }
}

/// Work would come behind nothing that writes the input.
TEST_F(DeviceErrors, AStreamOfAnotherDevice) {
  auto& runtime = tested_runtime();
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector data(inputs_.bytes(rank));
    const int device = rank == 1 ? 1 : 0;
    runtime.set_device(device);
    const kernels::DeviceStream stream = runtime.make_stream();
    const auto reduce_behind = [&](kernels::DeviceStream behind) {
      return failure_of([&] {
        allreduce_async(data.data(), data.data(), count, ElementType::f32, communicator, options,
                        {behind})
            .wait();
      });
    };
    expect_failure(reduce_behind(stream), ErrorKind::invalid_argument,
                   {"rank 1: ", "is none of device 0, where the buffers lie"});
    expect_failure(reduce_behind(nullptr), ErrorKind::invalid_argument,
                   {"rank 1: ", "the default one of device 1", "the buffers lie on device 0"});
    EXPECT_EQ(runtime.current_device(), device);
    runtime.destroy_stream(stream);
    runtime.set_device(0);
    EXPECT_FALSE(reduce_behind(nullptr).has_value());
    runtime.synchronise(nullptr);
    EXPECT_LT(inputs_.error_of(data.fetch()), 1e-10);
  });
}

TEST_F(DeviceErrors, AStreamForTheHostsBuffers) {
  auto& runtime = tested_runtime();
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    Bytes data = inputs_.bytes(rank);
    const kernels::DeviceStream stream = runtime.make_stream();
    const auto found = failure_of([&] {
      allreduce_async(data.data(), data.data(), count, ElementType::f32, communicator, options,
                      {stream})
          .wait();
    });
    expect_failure(found, ErrorKind::invalid_argument, {"the host's", "give a device's buffers"});
    runtime.destroy_stream(stream);
    expect_good_host_call(communicator);
  });
}

/// The device has room for the vectors and not for the words.
TEST_F(DeviceErrors, DeviceOutOfMemory) {
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector data(inputs_.bytes(rank));
    // All ranks have their vectors by the time one of them finds no more room.
    Bytes host = inputs_.bytes(rank);
    allreduce(host.data(), host.data(), count, ElementType::f32, communicator, options);
    if (rank == 0) kernels::emulated::set_capacity(kernels::emulated::allocated());
    const auto found = reduce(data.data(), data.data(), communicator);
    expect_failure(found, ErrorKind::memory, {"no device memory for ", " bytes, device 0"});
    allreduce(host.data(), host.data(), count, ElementType::f32, communicator, options);
    if (rank == 0) kernels::emulated::set_capacity(std::size_t{1} << 32);
    allreduce(host.data(), host.data(), count, ElementType::f32, communicator, options);
    expect_good_device_call(communicator);
  });
}

/// Memory may end anywhere in the making of a plan, whose other memory the device is still filling.
TEST_F(DeviceErrors, DeviceOutOfMemoryAnywhere) {
  for (const char* codec : {"raw", "thc:error_feedback=on", "packed", "sparse", "sparse+thc",
                            "sketch", "signcount", "marsit"}) {
    SCOPED_TRACE(codec);
    std::barrier all(ranks);
    std::size_t failures = 0;
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const DeviceVector data(inputs_.bytes(rank));
      bool made = false;
      for (std::size_t capacity = 0; !made; capacity += 150000) {
        all.arrive_and_wait();
        if (rank == 0) kernels::emulated::set_capacity(kernels::emulated::allocated() + capacity);
        all.arrive_and_wait();
        const auto found = failure_of([&] {
          AllreducePlan plan(communicator, count, ElementType::f32,
                             {.codec = codec, .algorithm = "ring"});
          plan.execute(data.data(), data.data());
          plan.execute(data.data(), data.data());
        });
        made = !found;
        if (found) expect_failure(found, ErrorKind::memory, {"no device memory"});
        if (found && rank == 0) ++failures;
        all.arrive_and_wait();
      }
      if (rank == 0) kernels::emulated::set_capacity(std::size_t{1} << 32);
      all.arrive_and_wait();
      expect_good_host_call(communicator);
      expect_good_device_call(communicator);
    });
    EXPECT_GT(failures, 5u);
  }
}

/// Of one rank alone, too, before any message.
TEST_F(DeviceErrors, AddressesThatAreNotAligned) {
  const RankInputs doubles(ranks, ElementType::f64, count, 3);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector capacity(doubles.bytes(rank).size() + 8);
    auto* const aligned = static_cast<std::byte*>(capacity.data());
    for (const int odd : {1, 4}) {
      void* const data = aligned + (rank == 1 ? odd : 0);
      const auto of_call = failure_of(
          [&] { allreduce(data, data, count, ElementType::f64, communicator, options); });
      const std::string behind = std::to_string(odd) + " bytes behind a multiple of 8";
      expect_failure(of_call, ErrorKind::invalid_argument, {"rank 1", "input", behind, "f64"});
      AllreducePlan plan(communicator, count, ElementType::f64, options);
      const auto of_plan = failure_of([&] { plan.execute(data, data); });
      expect_failure(of_plan, ErrorKind::invalid_argument, {"rank 1", behind});
      expect_good_device_call(communicator);
    }
  });
}

/// A broken device ends all that has to do with it, with the same words every time; the host goes
/// on.
TEST_F(DeviceErrors, ADeviceThatCannotGoOn) {
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector data(inputs_.bytes(rank));
    AllreducePlan plan(communicator, count, ElementType::f32, options);
    plan.execute(data.data(), data.data());
    expect_good_host_call(communicator);
    if (rank == 0) kernels::emulated::break_device();
    expect_good_host_call(communicator);
    for (int call = 0; call < 2; ++call) {
      expect_failure(failure_of([&] { plan.execute(data.data(), data.data()); }),
                     ErrorKind::transport, {"illegal memory access"});
      expect_failure(reduce(data.data(), data.data(), communicator), ErrorKind::transport,
                     {"illegal memory access"});
    }
    expect_good_host_call(communicator);
    // The process would need to end; a communicator remembers that.
    if (rank == 0) kernels::emulated::restore();
    expect_good_host_call(communicator);
    expect_failure(reduce(data.data(), data.data(), communicator), ErrorKind::transport,
                   {"the device cannot go on", "new process"});
  });
}

}  // namespace
}  // namespace cohom::test
