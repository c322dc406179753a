// Sketches of vectors on the (emulated) device, from empty ones to those that are too full to peel:
// the bits of the host, on several ranks.

#include "device_vector.hpp"
#include "loopback_ranks.hpp"
#include "same_bytes.hpp"
#include "sparse_vectors.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::size_t count = 30011;  // several sketches, the last one ragged
constexpr std::size_t segment = 16384;

struct Case {
  std::string codec;
  ElementType type = ElementType::f32;
  ReduceOp op = ReduceOp::sum;
  std::string algorithm = "ring";

  [[nodiscard]] AllreducePlan plan(Communicator& communicator) const {
    return {communicator,
            count,
            type,
            {.codec = codec, .algorithm = algorithm, .op = op, .segment = segment}};
  }
};

/// Calls of the host and of the device, whose input is kept and overwritten. What an index names
/// and what is left over shows in the bytes that travel.
void expect_equal(const Case& c, const std::vector<Bytes>& inputs) {
  const WithDevice device;
  on_ranks(int(inputs.size()), [&](int rank, Communicator& communicator) {
    SCOPED_TRACE(c.codec + " " + std::string(name_of(c.type)) + " rank " + std::to_string(rank));
    const Bytes& input = inputs[std::size_t(rank)];
    AllreducePlan here = c.plan(communicator), there = c.plan(communicator);
    const DeviceVector source(input), target(input.size()), both(input);
    Bytes expected(input.size());
    for (const bool in_place : {false, true}) {
      const std::uint64_t before = communicator.wire_counters().bytes_sent;
      here.execute(input.data(), expected.data());
      const std::uint64_t between = communicator.wire_counters().bytes_sent;
      there.execute(in_place ? both.data() : source.data(), in_place ? both.data() : target.data());
      if (in_place)  // in the first call ranks agree on the plan
        EXPECT_EQ(communicator.wire_counters().bytes_sent - between, between - before);
      EXPECT_EQ(there.describe().memory, "cuda");
      EXPECT_TRUE(same_bytes((in_place ? both : target).fetch(), expected))
          << (in_place ? "in place" : "");
    }
    EXPECT_TRUE(same_bytes(source.fetch(), input)) << "the input was written";
  });
}

std::vector<Bytes> inputs_of(int ranks, ElementType type, double density) {
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(to_bytes(type, sparse_values(count, density, std::uint64_t(rank) + 1)));
  return inputs;
}

/// A share of 0.3 peels to a union of about a quarter.
TEST(DeviceSketch, OfAnyDensity) {
  for (const double density : {0.0, 1e-4, 0.01, 0.1, 0.3, 1.0})
    for (const char* codec : {"sketch", "sketch:gamma=1.1", "sketch:index=bloom", "sketch:size=0.3",
                              "sketch:index=bloom,size=0.3"})
      expect_equal({.codec = codec}, inputs_of(3, ElementType::f32, density));
}

TEST(DeviceSketch, OfAnyTypeAndRanks) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16})
    for (const int ranks : {1, 2, 5})
      for (const char* codec : {"sketch:index=flat", "sketch:gamma=0.6,seed=4"})
        for (const char* algorithm : {"direct", "tree", "recursive_doubling"})
          expect_equal({codec, type, ReduceOp::mean, algorithm}, inputs_of(ranks, type, 0.05));
}

/// Numbers that no cell holds make their blocks outliers, beside elements that do not peel.
TEST(DeviceSketch, OutliersBesideWhatIsLeft) {
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    auto values = sparse_values(count, 0.2, 5);
    values[700] = std::numeric_limits<double>::quiet_NaN();
    values[17000] = -std::numeric_limits<double>::infinity();
    values[count - 1] = 60000;
    if (type == ElementType::f32) values[20000] = 0x1p-70;
    std::vector<Bytes> inputs = inputs_of(3, type, 0.2);
    inputs[1] = to_bytes(type, values);
    for (const char* codec : {"sketch", "sketch:gamma=0.9", "sketch:size=0.1"})
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean})
        expect_equal({codec, type, op}, inputs);
  }
}

/// Plans have all that their calls need of the device, whatever the union and whatever is left
/// over.
TEST(DeviceSketch, CallsTakeNoMemoryOfTheDevice) {
  const WithDevice device;
  constexpr int ranks = 2;
  constexpr std::size_t many = 1 << 20;
  for (const char* codec : {"sketch", "sketch:gamma=0.8", "sketch:size=0.1"}) {
    SCOPED_TRACE(codec);
    std::barrier all(ranks);
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const auto values_of = [&](double density) {
        return to_bytes(ElementType::f32, sparse_values(many, density, std::uint64_t(rank) + 1));
      };
      const DeviceVector few(values_of(0.001)), most(values_of(0.9));
      AllreducePlan plan(communicator, many, ElementType::f32,
                         {.codec = codec, .algorithm = "ring"});
      plan.execute(few.data(), few.data());  // makes what the kind of memory asks for
      all.arrive_and_wait();
      const std::size_t before = kernels::emulated::allocated();
      all.arrive_and_wait();
      plan.execute(most.data(), most.data());
      all.arrive_and_wait();
      EXPECT_EQ(kernels::emulated::allocated(), before);
      all.arrive_and_wait();
    });
  }
}

}  // namespace
}  // namespace cohom::test
