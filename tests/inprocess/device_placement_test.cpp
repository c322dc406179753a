// Memory lies in the same place whether or not the library with kernels is loaded, which a call may
// do.

#include "device_vector.hpp"
#include "fake_driver.hpp"
#include "loopback_ranks.hpp"
#include "memory/driver_memory.hpp"
#include "memory/placement.hpp"
#include "rank_inputs.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace cohom::test {
namespace {

constexpr std::size_t count = 5000;

class DevicePlacement : public testing::Test {
 protected:
  void SetUp() override {
    if (tested_runtime().name() != "emulated") GTEST_SKIP() << "a device has a driver of its own";
  }
  DevicePlacement() : knows_(load_fake_driver(COHOM_FAKE_DRIVER)) {
    kernels::emulated::restore();
    offer_device_library(&kernels::emulated_device());
  }
  ~DevicePlacement() override {
    knows_(nullptr, 0);
    set_device_library(nullptr, "the test is over");
  }

  static std::string location_of(const void* memory) {
    return placement_of(memory, memory, ElementType::f32).text();
  }
  static bool loaded() { return loaded_device_library() != nullptr; }

  FakeDriverKnows knows_;
};

/// The processor reads it, and so nobody used to ask the driver before another buffer had loaded
/// the library.
TEST_F(DevicePlacement, ManagedMemoryIsTheDevicesFromTheFirstCallOn) {
  void* const managed = kernels::emulated::allocate_managed(count * 4);
  knows_(managed, count * 4);
  EXPECT_EQ(location_of(managed), "cuda:0");
  EXPECT_TRUE(loaded());
  EXPECT_EQ(location_of(managed), "cuda:0");
  EXPECT_EQ(location_of(static_cast<std::byte*>(managed) + 400), "cuda:0");
  kernels::emulated::free_managed(managed);
}

TEST_F(DevicePlacement, MemoryOfNoDriverIsTheHostsAndLoadsNothing) {
  Bytes host(count * 4);
  EXPECT_EQ(location_of(host.data()), "host");
  EXPECT_FALSE(loaded());
  const DeviceVector other(4);
  EXPECT_EQ(location_of(other.data()), "cuda:0");
  EXPECT_TRUE(loaded());
  EXPECT_EQ(location_of(host.data()), "host");
}

TEST_F(DevicePlacement, PinnedMemoryIsTheHosts) {
  void* const pinned = tested_runtime().allocate_pinned(count * 4);
  knows_(pinned, count * 4);
  EXPECT_EQ(location_of(pinned), "host");
  EXPECT_TRUE(loaded());
  EXPECT_EQ(location_of(pinned), "host");
  tested_runtime().free_pinned(pinned);
}

/// Nobody can do better than the processor, and the place stays.
TEST_F(DevicePlacement, ManagedMemoryWithoutALibraryIsTheHosts) {
  set_device_library(nullptr, "not installed");
  Bytes managed(count * 4);
  knows_(managed.data(), managed.size());
  for (int call = 0; call < 2; ++call) EXPECT_EQ(location_of(managed.data()), "host");
}

/// Ranks are threads here and share the library: whoever asks first loads it, others find it loaded
/// or not, and all agree from the first call on.
TEST_F(DevicePlacement, RanksAgreeWhoeverHasLoadedTheLibrary) {
  constexpr int ranks = 3;
  const RankInputs inputs(ranks, ElementType::f32, count);
  auto* const managed =
      static_cast<std::byte*>(kernels::emulated::allocate_managed(ranks * count * 4));
  knows_(managed, ranks * count * 4);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    std::byte* const data = managed + std::size_t(rank) * count * 4;
    std::memcpy(data, inputs.bytes(rank).data(), count * 4);
    AllreducePlan plan(communicator, count, ElementType::f32,
                       {.codec = "raw", .algorithm = "ring"});
    plan.execute(data, data);
    EXPECT_EQ(plan.describe().memory, "cuda");
    EXPECT_LT(inputs.error_of(Bytes(data, data + count * 4)), 1e-10);
  });
  kernels::emulated::free_managed(managed);
}

}  // namespace
}  // namespace cohom::test
