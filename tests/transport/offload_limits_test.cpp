// What an aggregator does at the end of its means: slots, descriptors.

#include "aggregation/client/network_aggregator.hpp"
#include "aggregation/net/endpoint.hpp"
#include "host_plane.hpp"
#include "job_keys.hpp"
#include "offload_load.hpp"
#include "offload_switch.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <barrier>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace cohom::offload {
namespace {

using test::packet_options;
using test::Switch;
using test::wait_for;
using namespace std::chrono_literals;

std::unique_ptr<DataPlane> plane_of(std::uint32_t slots) {
  return test::make_host_plane({.slots = slots, .groups = 8});
}

TEST(OffloadLimits, ALeafWithFewerSlotsThanItsParentAsksForAsMany) {
  Switch root(plane_of(256));
  Switch leaf(plane_of(5), {}, root.port());
  std::barrier through(3);  // who leaves takes the group along
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back([&, rank] {
      NetworkAggregator aggregator(rank == 0 ? root.endpoint() : leaf.endpoint(),
                                   {.job = test::job(1), .rank = rank, .ranks = 3},
                                   packet_options());
      const bool ready = wait_for([&] { return aggregator.ready(); });
      EXPECT_TRUE(ready) << aggregator.why_not_ready();
      if (ready) EXPECT_EQ(test::run_load(aggregator, {.calls = 5}, rank, 3).wrong_words, 0u);
      through.arrive_and_wait();
    });
}

TEST(OffloadLimits, NoSlotsAreNoGroup) {
  Switch small(plane_of(16));
  NetworkAggregator first(small.endpoint(), {.job = test::job(1)}, packet_options());
  ASSERT_TRUE(wait_for([&] { return first.ready(); })) << first.why_not_ready();
  NetworkAggregator second(small.endpoint(), {.job = test::job(2)}, packet_options());
  EXPECT_TRUE(wait_for([&] {
    return second.why_not_ready() == "no resources: all 16 slots are taken";
  })) << second.why_not_ready();
}

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// Lets this process have no more descriptors than now.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const FileDescriptor lowest(::socket(AF_INET, SOCK_STREAM, 0));
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(lowest.get());
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  ~NoMoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(OffloadLimits, WithoutDescriptorsItWaitsAndDoesNotSpin) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers look at memory through pipes, and need descriptors for them";
#endif
  Switch one(plane_of(16));
  const FileDescriptor knocking(::socket(AF_INET, SOCK_STREAM, 0));
  {
    const NoMoreDescriptors none;
    const sockaddr_in address = test::local(one.port());
    ASSERT_EQ(
        ::connect(knocking.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    std::this_thread::sleep_for(100ms);
    const double before = processor_seconds();
    std::this_thread::sleep_for(1s);
    EXPECT_LT(processor_seconds() - before, 0.2);
  }
  EXPECT_TRUE(wait_for([&] { return one.status()["connections"] == 2; }));
}

}  // namespace
}  // namespace cohom::offload
