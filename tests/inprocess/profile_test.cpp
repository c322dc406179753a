// What a profile says about calls: every moment once, and nothing that does not happen.

#include "loopback_ranks.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/profile.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace cohom::test {
namespace {

double all(const Profile& profile) {
  double sum = 0;
  for (std::size_t p = 0; p < phases; ++p) sum += profile.seconds(static_cast<Phase>(p));
  return sum;
}

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Profile, PhasesAddUpToTheCall) {
  on_ranks(3, [](int, Communicator& communicator) {
    std::vector<float> vector(300000, 1.5f);
    for (const char* codec : {"raw", "thc", "packed", "sparse", "marsit"}) {
      AllreducePlan plan(communicator, vector.size(), ElementType::f32,
                         {.codec = codec, .algorithm = "ring"});
      Profile profile;
      communicator.set_profile(&profile);
      const double took = seconds_of([&] { plan.execute(vector.data(), vector.data()); });
      communicator.set_profile(nullptr);
      EXPECT_LE(all(profile), took) << codec;
      EXPECT_GT(all(profile), 0.8 * took - 0.002)
          << codec;  // what is before the start is not in it
    }
  });
}

TEST(Profile, PhasesAreThoseOfTheCodec) {
  on_ranks(2, [](int, Communicator& communicator) {
    const std::vector<float> input(100000, 1.0f);
    std::vector<float> output(input.size());
    Profile raw, thc;
    communicator.set_profile(&raw);
    allreduce(input, output, communicator, {.codec = "raw", .algorithm = "direct"});
    communicator.set_profile(&thc);
    allreduce(input, output, communicator, {.codec = "thc", .algorithm = "direct"});
    communicator.set_profile(nullptr);
    EXPECT_EQ(raw.seconds(Phase::agree), 0);
    EXPECT_EQ(raw.seconds(Phase::encode), 0);  // its words are the user's vector
    EXPECT_GT(raw.seconds(Phase::merge), 0);
    for (const Phase phase : {Phase::agree, Phase::encode, Phase::merge, Phase::decode})
      EXPECT_GT(thc.seconds(phase), 0) << name_of(phase);
  });
}

TEST(Profile, WaitsForALateRank) {
  on_ranks(2, [](int rank, Communicator& communicator) {
    std::vector<float> vector(1000, 1.0f);
    Profile profile;
    communicator.set_profile(&profile);
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    allreduce(vector, communicator, {.codec = "raw", .algorithm = "direct"});
    if (rank == 0) EXPECT_GT(profile.seconds(Phase::wait), 0.03);
    communicator.set_profile(nullptr);
  });
}

TEST(Profile, TimeBetweenCallsIsNotCounted) {
  on_ranks(2, [](int, Communicator& communicator) {
    std::vector<float> vector(1000, 1.0f);
    Profile profile;
    communicator.set_profile(&profile);
    double took = 0;
    for (int call = 0; call < 2; ++call) {
      took += seconds_of(
          [&] { allreduce(vector, communicator, {.codec = "raw", .algorithm = "direct"}); });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_LE(all(profile), took);
    profile.reset();
    EXPECT_EQ(all(profile), 0);
    communicator.set_profile(nullptr);
  });
}

}  // namespace
}  // namespace cohom::test
