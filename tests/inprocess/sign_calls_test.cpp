// signcount and marsit through whole calls: bytes on the wire, state in and out of checkpoints,
// wrong parameters, and the message of each of them.

#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

Bytes reduce(Communicator& communicator, const RankInputs& inputs, const Options& options) {
  Bytes output(inputs.bytes(0).size());
  allreduce(inputs.bytes(communicator.rank()).data(), output.data(), inputs.count(), inputs.type(),
            communicator, options);
  return output;
}

/// Bytes that the busiest rank sends for each byte of f32, in one call of a plan.
double wire_share(const std::string& codec, const char* algorithm, int ranks) {
  constexpr std::size_t count = 1 << 20;
  std::vector<float> ones(count, 1.0f);
  std::uint64_t busiest = 0;
  std::mutex mutex;
  on_ranks(ranks, [&](int, Communicator& communicator) {
    AllreducePlan plan(communicator, count, ElementType::f32,
                       {.codec = codec, .algorithm = algorithm});
    std::vector<float> output(count);
    const std::uint64_t before = communicator.wire_counters().bytes_sent;
    plan.execute(ones.data(), output.data());
    const std::lock_guard lock(mutex);
    busiest = std::max(busiest, communicator.wire_counters().bytes_sent - before);
  });
  return double(busiest) / (4.0 * count);
}

TEST(WireBytes, OfMarsitAreTwoBitsAValueInARingAndOneInDirect) {
  for (const int ranks : {2, 3, 4, 7, 8}) {
    const double share = 1 - 1.0 / ranks;
    EXPECT_NEAR(wire_share("marsit", "ring", ranks), 2 * share / 32, 0.02 * 2 * share / 32)
        << ranks << " ranks";
    EXPECT_NEAR(wire_share("marsit", "direct", ranks), share / 32, 0.02 * share / 32)
        << ranks << " ranks";
  }
}

TEST(WireBytes, OfSigncountAreOneBitUpAndALaneDown) {
  struct Lane {
    int ranks;
    double bits;  ///< 64 over the lanes of a word, padded to whole words of a block
    double hops;  ///< of recursive doubling, the busiest rank's
  };
  for (const Lane& lane : {Lane{2, 2, 1}, Lane{4, 49 / 16.0, 2}, Lane{8, 4, 3}}) {
    const double share = 1 - 1.0 / lane.ranks;
    const double scales = lane.hops * 64 / 1024;  // two codes of 32 bits a block
    const double counted = (share * (1 + lane.bits) + scales) / 32;
    EXPECT_NEAR(wire_share("signcount", "direct", lane.ranks), counted, 0.02 * counted)
        << lane.ranks << " ranks";
    const double voted = (share * (1 + 1) + scales) / 32;
    EXPECT_NEAR(wire_share("signcount:vote=majority", "direct", lane.ranks), voted, 0.02 * voted)
        << lane.ranks << " ranks";
    const double ring = (share * (lane.bits + 1) + scales) / 32;
    EXPECT_NEAR(wire_share("signcount:vote=majority", "ring", lane.ranks), ring, 0.02 * ring)
        << lane.ranks << " ranks";
  }
}

/// Two tensors of one model; the restored run takes them in another order.
TEST(SignState, SurvivesACheckpointAndAnotherOrderOfTensors) {
  constexpr int ranks = 3;
  const RankInputs weights(ranks, ElementType::f32, 5003, 21);
  const RankInputs biases(ranks, ElementType::f32, 700, 22);
  for (const char* codec : {"marsit:compensation=on,period=4", "signcount:error_feedback=on",
                            "signcount:error_feedback=on,vote=majority,scale=global"}) {
    const auto options = [&](std::string name) {
      return Options{
          .codec = codec, .algorithm = "ring", .segment = 1024, .buffer = std::move(name)};
    };
    std::vector<std::vector<std::byte>> saved(2 * ranks);
    std::vector<Bytes> expected;
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      for (int step = 0; step < 6; ++step) {
        const Bytes a = reduce(communicator, weights, options("weights"));
        const Bytes b = reduce(communicator, biases, options("biases"));
        if (step == 1) {
          saved[2 * std::size_t(rank)] = communicator.save_state("weights");
          saved[2 * std::size_t(rank) + 1] = communicator.save_state("biases");
        } else if (step > 1 && rank == 0) {
          expected.push_back(a);
          expected.push_back(b);
        }
      }
    });
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      communicator.restore_state("biases", saved[2 * std::size_t(rank) + 1]);
      communicator.restore_state("weights", saved[2 * std::size_t(rank)]);
      for (std::size_t step = 0; step < 4; ++step) {
        const Bytes b = reduce(communicator, biases, options("biases"));
        const Bytes a = reduce(communicator, weights, options("weights"));
        EXPECT_TRUE(same_bytes(a, expected[2 * step])) << codec << ", step " << step;
        EXPECT_TRUE(same_bytes(b, expected[2 * step + 1])) << codec << ", step " << step;
      }
    });
  }
}

/// Two runs agree in bits, and different steps draw anew.
TEST(SignSteps, RepeatAndDiffer) {
  const RankInputs inputs(4, ElementType::f32, 5003, 23);
  const auto run = [&] {
    std::vector<Bytes> results;
    on_ranks(4, [&](int rank, Communicator& communicator) {
      AllreducePlan plan(communicator, inputs.count(), inputs.type(),
                         {.codec = "marsit:period=3", .algorithm = "direct"});
      for (int step = 0; step < 7; ++step) {
        Bytes output(inputs.bytes(0).size());
        plan.execute(inputs.bytes(rank).data(), output.data());
        if (rank == 0) results.push_back(std::move(output));
      }
    });
    return results;
  };
  const auto first = run();
  EXPECT_EQ(first, run());
  EXPECT_FALSE(same_bytes(first[0], first[1]));
  EXPECT_TRUE(same_bytes(first[2], first[5])) << "calls of full precision draw nothing";
  EXPECT_LT(inputs.error_of(first[2]), 1e-10);
}

TEST(SignParameters, ThatAreWrongAreNamed) {
  const struct {
    const char* spec;
    const char* named;
  } wrong[] = {{"signcount:scale=0", "scale"},
               {"signcount:scale=l2", "scale"},
               {"signcount:vote=all", "vote"},
               {"signcount:error_feedback=1", "error_feedback"},
               {"signcount:seed=1", "seed"},
               {"marsit:scale=global", "scale"},
               {"marsit:period=0", "period"},
               {"marsit:period=never", "period"},
               {"marsit:compensation=yes", "compensation"}};
  on_ranks(1, [&](int, Communicator& communicator) {
    for (const auto& [spec, named] : wrong) {
      try {
        AllreducePlan plan(communicator, 10000, ElementType::f32, {.codec = spec});
        ADD_FAILURE() << spec << " is taken";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
      }
    }
  });
}

TEST(SignState, NeedsAName) {
  const RankInputs inputs(2, ElementType::f32, 9000, 24);
  on_ranks(2, [&](int, Communicator& communicator) {
    for (const char* codec : {"marsit:compensation=on", "signcount:error_feedback=on"})
      EXPECT_THROW(reduce(communicator, inputs, {.codec = codec}), Error) << codec;
  });
}

}  // namespace
}  // namespace cohom::test
