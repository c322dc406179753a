// A program built with -ffast-math, all of whose threads flush denormals to zero, gets the same
// bits. It uses public headers, which may be compiled so, and the loopback ranks.

#include "base/float_mode.hpp"
#include "loopback_ranks.hpp"

#include <cohom/codec.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#if !defined(__FAST_MATH__)
#error "this test is about programs compiled with -ffast-math"
#endif

namespace cohom::test {
namespace {

constexpr int ranks = 3;
constexpr std::size_t count = 2000;
using Bits = std::vector<std::uint32_t>;

/// Values from 2^-7 to 2^8 of both signs, every seventh denormal; made as bits, not by arithmetic.
Bits input_of(int rank) {
  Bits bits(count);
  std::uint64_t state = 1000 + std::uint64_t(rank);
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto drawn = static_cast<std::uint32_t>(state >> 32);
    const std::uint32_t exponent = i % 7 == 0 ? 0 : 120 + (drawn >> 23) % 16;
    bits[i] = (drawn & 0x807fffffu) | exponent << 23;
  }
  return bits;
}

/// What rank 0 gets from two calls of a plan.
Bits result_of(const std::string& codec, bool in_default_mode) {
  Bits result(2 * count);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    std::optional<DefaultFloatMode> mode;
    if (in_default_mode) mode.emplace();
    const Bits input = input_of(rank);
    Bits output(2 * count);
    AllreducePlan plan(communicator, count, ElementType::f32,
                       {.codec = codec, .algorithm = "ring"});
    plan.execute(input.data(), output.data());
    plan.execute(input.data(), output.data() + count);
    if (rank == 0) result = output;
  });
  return result;
}

/// Not by comparing, which flushes, too.
std::uint32_t half_of_the_min_normal() {
  volatile float least = std::bit_cast<float>(0x00800000u);
  return std::bit_cast<std::uint32_t>(least / 2);
}

TEST(FastMathUser, GetsTheSameBits) {
  ASSERT_EQ(half_of_the_min_normal(), 0u) << "this program does not flush denormals to zero";
  for (const CodecInfo& codec : codecs()) {
    const std::string name(codec.name);
    EXPECT_EQ(result_of(name, false), result_of(name, true)) << name;
  }
  EXPECT_EQ(half_of_the_min_normal(), 0u) << "the caller's mode is gone";
}

}  // namespace
}  // namespace cohom::test
