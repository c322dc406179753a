// allgather: each rank's part is what an allreduce of that rank alone makes of it.

#include <cohom/reductions.hpp>

#include "codec_specs.hpp"
#include "elements.hpp"
#include "errors_of_ranks.hpp"
#include "guarded_buffer.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "thoroughness.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

Options options_of(std::string_view codec, std::string_view algorithm) {
  return {.codec = std::string(codec), .algorithm = std::string(algorithm), .native = "never"};
}

bool keeps_state(std::string_view spec) {
  bool keeps = false;
  on_ranks(1, [&](int, Communicator& communicator) {
    AllreducePlan plan(communicator, 1000, ElementType::f32, options_of(spec, "ring"));
    keeps = plan.describe().state_bytes != 0;
  });
  return keeps;
}

/// The parts of two calls, one behind the other, of ranks that are alone: each in one segment.
std::vector<Bytes> parts_alone(std::string_view codec, const RankInputs& inputs) {
  std::vector<Bytes> calls(2);
  on_ranks(1, [&](int, Communicator& communicator) {
    for (int rank = 0; rank < inputs.ranks(); ++rank) {
      Options options = options_of(codec, "direct");
      options.segment = std::size_t(1) << 26;
      AllreducePlan plan(communicator, inputs.count(), inputs.type(), options);
      for (Bytes& call : calls) {
        Bytes part(inputs.bytes(rank).size());
        plan.execute(inputs.bytes(rank).data(), part.data());
        call.insert(call.end(), part.begin(), part.end());
      }
    }
  });
  return calls;
}

/// Two calls with buffers of their own, and two in place.
void expect_parts(const std::vector<Bytes>& calls, const RankInputs& inputs,
                  Communicator& communicator, const Options& options) {
  const Bytes& own = inputs.bytes(communicator.rank());
  const std::size_t first = std::size_t(communicator.rank()) * own.size();
  GuardedBuffer input(own.size(), size_of(inputs.type()));
  GuardedBuffer output(calls[0].size(), size_of(inputs.type()));
  GuardedBuffer both(calls[0].size(), 0);
  input.fill(own);
  AllgatherPlan plan(communicator, inputs.count(), inputs.type(), options);
  for (const Bytes& right : calls) {
    plan.execute(input.data(), output.data());
    EXPECT_TRUE(same_bytes(output.bytes(), right));
  }
  EXPECT_TRUE(same_bytes(input.bytes(), own)) << "the input was written";
  plan.reset_state();  // back to step 0: the same draws
  for (const Bytes& right : calls) {
    Bytes before(right.size(), std::byte{0x55});
    std::ranges::copy(own, before.begin() + std::ptrdiff_t(first));
    both.fill(before);
    plan.execute(static_cast<std::byte*>(both.data()) + first, both.data());
    EXPECT_TRUE(same_bytes(both.bytes(), right)) << "in place";
  }
  EXPECT_TRUE(input.fences_intact() && output.fences_intact() && both.fences_intact());
}

class Allgather : public ::testing::TestWithParam<int> {};

TEST_P(Allgather, PartsAreThoseOfRanksAlone) {
  const int ranks = GetParam();
  const ElementType types[] = {ElementType::f32, ElementType::bf16, ElementType::f64,
                               ElementType::f16};
  CaseShare share(2, 5);
  std::size_t number = 0;
  for (const CodecSpec& codec : specs_for(1)) {
    if (keeps_state(codec.spec)) continue;
    for (const std::size_t count : {1, 17, 1000, 4096, 5001}) {
      if (share.skips_this()) continue;
      const RankInputs inputs(ranks, types[++number % 4], count, count);
      const auto calls = parts_alone(codec.spec, inputs);
      const auto* const algorithm = number % 3 == 0 ? "ring" : "direct";
      on_ranks(ranks, [&](int rank, Communicator& communicator) {
        SCOPED_TRACE(std::string(codec.spec) + " " + algorithm + " " + inputs.name() + " rank " +
                     std::to_string(rank));
        expect_parts(calls, inputs, communicator, options_of(codec.spec, algorithm));
      });
    }
  }
}

TEST_P(Allgather, NativeOnesAreCopies) {
  const int ranks = GetParam();
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    const RankInputs inputs(ranks, type, 501);
    Bytes right;
    for (int rank = 0; rank < ranks; ++rank)
      right.insert(right.end(), inputs.bytes(rank).begin(), inputs.bytes(rank).end());
    for (const double timeout : {0.0, 60.0})
      on_ranks(ranks, [&](int rank, Communicator& communicator) {
        const Bytes& own = inputs.bytes(rank);
        Bytes output(right.size());
        // In place on some ranks alone.
        auto* const place = output.data() + std::size_t(rank) * own.size();
        if (rank % 2 == 0) std::memcpy(place, own.data(), own.size());
        Options options{.codec = "raw", .timeout = timeout, .native = "always"};
        allgather(rank % 2 == 0 ? place : own.data(), output.data(), inputs.count(), type,
                  communicator, options);
        EXPECT_TRUE(same_bytes(output, right));
        EXPECT_EQ(communicator.native_calls(), ranks == 1 ? 0 : 1);
      });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Allgather,
                         ::testing::ValuesIn(is_slow() ? std::vector{1, 3}
                                                       : std::vector{1, 2, 3, 8}));

TEST(AllgatherOf, OutliersAreThoseOfRanksAlone) {
  constexpr int ranks = 3;
  constexpr std::size_t count = 5000;
  RankInputs inputs(ranks, ElementType::f32, count);
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const auto& [rank, element, value] :
       {std::tuple{0, 5, inf}, std::tuple{1, 9, 3e38f}, std::tuple{2, 4999, -inf},
        std::tuple{2, 77, std::numeric_limits<float>::quiet_NaN()}, std::tuple{1, 0, 1e-40f}})
    std::memcpy(inputs.mutable_bytes(rank).data() + 4 * element, &value, 4);
  for (const CodecSpec& codec : specs_for(1)) {
    if (keeps_state(codec.spec)) continue;
    const auto calls = parts_alone(codec.spec, inputs);
    on_ranks(ranks, [&](int, Communicator& communicator) {
      SCOPED_TRACE(codec.spec);
      expect_parts(calls, inputs, communicator, options_of(codec.spec, "auto"));
    });
  }
}

/// Numbers that no block can hold: all NaN, or of as many sizes as there are.
RankInputs without_scale(int ranks, ElementType type, std::size_t count, bool nans) {
  RankInputs inputs(ranks, type, count);
  for (int rank = 0; rank < ranks; ++rank) {
    auto values = to_values(type, inputs.bytes(rank));
    for (std::size_t i = 0; i < count; ++i) {
      const int exponents = type == ElementType::f64 ? 1900 : 240;
      const int exponent = int((i * 37 + std::size_t(rank)) % std::size_t(exponents));
      values[i] = nans ? std::nan("") : std::ldexp(values[i], exponent - exponents / 2);
    }
    inputs.mutable_bytes(rank) = to_bytes(type, values);
  }
  return inputs;
}

// Their words are more than the payload's, and of exact as many as nobody knows before the call.
TEST(AllgatherOf, PartsOfOutliersAreThoseOfRanksAlone) {
  for (const ElementType type : {ElementType::f32, ElementType::f64})
    for (const bool nans : {false, true}) {
      const RankInputs inputs = without_scale(2, type, 1003, nans);
      for (const auto* codec : {"exact", "sparse+exact", "thc", "packed", "signcount"}) {
        const auto calls = parts_alone(codec, inputs);
        on_ranks(2, [&](int, Communicator& communicator) {
          SCOPED_TRACE(std::string(codec) + (nans ? ", NaN, " : ", ") + inputs.name());
          expect_parts(calls, inputs, communicator, options_of(codec, "ring"));
        });
      }
    }
}

TEST(AllgatherOf, LongPartsAreCompressedAtOnce) {
  const RankInputs inputs(2, ElementType::f32, 200'003);
  for (const auto* codec : {"thc", "packed", "sparse+thc", "sketch"}) {
    const auto calls = parts_alone(codec, inputs);
    on_ranks(2, [&](int rank, Communicator& communicator) {
      SCOPED_TRACE(codec);
      Options options = options_of(codec, "direct");
      options.segment = rank == 0 ? 4096 : 0;  // which says nothing here
      options.threads = "2";
      options.checksum = "on";
      expect_parts(calls, inputs, communicator, options);
    });
  }
}

TEST(AllgatherOf, NativeOnesTakeTurns) {
  const RankInputs inputs(3, ElementType::f32, 20'000);
  Bytes right;
  for (int rank = 0; rank < 3; ++rank)
    right.insert(right.end(), inputs.bytes(rank).begin(), inputs.bytes(rank).end());
  on_ranks(3, [&](int rank, Communicator& communicator) {
    const Options options{.codec = "raw", .native = "auto"};
    const Bytes& own = inputs.bytes(rank);
    for (int call = 0; call < 40; ++call) {
      Bytes output(right.size());
      auto* const place = output.data() + std::size_t(rank) * own.size();
      const bool in_place = (call + rank) % 3 == 0;
      if (in_place) std::ranges::copy(own, place);
      allgather(in_place ? place : own.data(), output.data(), inputs.count(), ElementType::f32,
                communicator, options);
      ASSERT_TRUE(same_bytes(output, right)) << "call " << call;
    }
    EXPECT_GT(communicator.native_calls(), 0U);
    EXPECT_LT(communicator.native_calls(), 40U);
  });
}

TEST(AllgatherOf, AutoKeepsTheErrorOfAPart) {
  const RankInputs inputs(3, ElementType::f32, 50'000);
  on_ranks(3, [&](int rank, Communicator& communicator) {
    for (const auto* codec : {"auto:nmse=1e-2", "auto:nmse=1e-4"}) {
      AllgatherPlan plan(communicator, inputs.count(), ElementType::f32, options_of(codec, "auto"));
      Bytes output(3 * inputs.bytes(rank).size());
      plan.execute(inputs.bytes(rank).data(), output.data());
      const auto found = to_values(ElementType::f32, output);
      double error = 0, energy = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const auto& values = inputs.bytes(int(i / inputs.count()));
        float right = 0;
        std::memcpy(&right, values.data() + 4 * (i % inputs.count()), 4);
        error += (found[i] - right) * (found[i] - right);
        energy += double(right) * right;
      }
      EXPECT_LE(error, (codec == std::string_view("auto:nmse=1e-2") ? 1.1e-2 : 1.1e-4) * energy)
          << plan.describe().codec;
      EXPECT_NE(plan.describe().codec, "raw");
    }
  });
}

TEST(AllgatherOf, ManyRanksSendLongPartsAroundARing) {
  on_ranks(17, [](int, Communicator& communicator) {
    const auto algorithm_of = [&](std::size_t count) {
      return AllgatherPlan(communicator, count, ElementType::f32, options_of("raw", "auto"))
          .describe()
          .algorithm;
    };
    EXPECT_EQ(algorithm_of(1 << 16), "ring");
    EXPECT_EQ(algorithm_of(100), "direct");
  });
}

TEST(AllgatherOf, EmptyPartsAndShortOnes) {
  on_ranks(3, [](int rank, Communicator& communicator) {
    allgather(nullptr, nullptr, 0, ElementType::f32, communicator, options_of("thc", "ring"));
    // What is too short to be compressed goes as it is.
    const std::vector<float> own{float(rank), 0.125F};
    std::vector<float> all(6);
    allgather(own, all, communicator, options_of("thc", "auto"));
    EXPECT_EQ(all, (std::vector<float>{0, 0.125F, 1, 0.125F, 2, 0.125F}));
  });
}

TEST(AllgatherOf, CompressedPartsTakeFewerBytes) {
  constexpr std::size_t count = 1 << 16;
  const RankInputs inputs(4, ElementType::f32, count);
  on_ranks(4, [&](int rank, Communicator& communicator) {
    Bytes output(4 * inputs.bytes(rank).size());
    std::uint64_t before = 0;
    for (const auto& [codec, most] :
         {std::tuple{"raw", 4.01}, std::tuple{"thc", 0.52}, std::tuple{"packed:bits=5", 0.72},
          std::tuple{"signcount", 0.15}})
      for (const auto* algorithm : {"ring", "direct"}) {
        allgather(inputs.bytes(rank).data(), output.data(), count, ElementType::f32, communicator,
                  options_of(codec, algorithm));
        const std::uint64_t sent = communicator.wire_counters().bytes_sent;
        EXPECT_LT(double(sent - before), most * 3 * double(count)) << codec << " " << algorithm;
        before = sent;
      }
  });
}

TEST(AllgatherOf, SeveralAreInFlight) {
  constexpr int ranks = 3;
  const RankInputs inputs(ranks, ElementType::f32, 4000);
  const auto calls = parts_alone("packed", inputs);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    std::vector<Bytes> outputs(3, Bytes(calls[0].size()));
    std::vector<Request> requests;
    for (Bytes& output : outputs)
      requests.push_back(allgather_start(inputs.bytes(rank).data(), output.data(), inputs.count(),
                                         ElementType::f32, communicator,
                                         options_of("packed", "ring")));
    for (auto request = requests.rbegin(); request != requests.rend(); ++request) request->wait();
    EXPECT_TRUE(same_bytes(outputs[0], calls[0]));
  });
}

void expect_error(ErrorKind kind, std::string_view text,
                  const std::function<void(int, Communicator&)>& call) {
  expect_errors(3, kind, text, call, [](int rank, Communicator& communicator) {
    std::vector<float> all(3), right{0, 1, 2};
    allgather(std::vector<float>{float(rank)}, all, communicator, options_of("raw", "auto"));
    EXPECT_EQ(all, right);
  });
}

TEST(AllgatherOf, WrongArgumentsAreErrorsOnAllRanks) {
  std::vector<float> in(8, 1), some(8192, 1);
  const auto f32 = ElementType::f32;
  const auto with = [&](const Options& options) {
    return [&in, options](int, Communicator& communicator) {
      std::vector<float> out(24);
      allgather(in, out, communicator, options);
    };
  };
  expect_error(ErrorKind::invalid_argument, "adds nothing; leave op as it is",
               with({.codec = "raw", .op = ReduceOp::mean}));
  expect_error(ErrorKind::unsupported, "tree makes no allgather; take ring, direct",
               with(options_of("raw", "tree")));
  expect_error(ErrorKind::unsupported, "take a codec without error feedback",
               with(options_of("thc:error_feedback=on", "ring")));
  expect_error(ErrorKind::unsupported, "gather in several calls", [&](int, Communicator& each) {
    AllgatherPlan(each, (std::size_t(1) << 26) + 1, f32, options_of("signcount", "ring"));
  });
  expect_error(ErrorKind::mismatch, "allgather", [&](int rank, Communicator& communicator) {
    std::vector<float> out(24);
    if (rank == 0)
      allreduce(in.data(), out.data(), 8, f32, communicator);
    else
      allgather(in.data(), out.data(), 8, f32, communicator);
  });
  expect_error(ErrorKind::invalid_argument, "output is null", [&](int rank, Communicator& each) {
    std::vector<float> out(24);
    allgather(in.data(), rank == 1 ? nullptr : out.data(), 8, f32, each);
  });
  // In place is this rank's part alone: not another's, nor one that lies across two.
  for (const std::size_t place : {0, 12, 16})
    expect_error(ErrorKind::invalid_argument, "give 32 bytes, this rank's part",
                 [&](int rank, Communicator& communicator) {
                   std::vector<float> out(24);
                   allgather(rank == 1 ? out.data() + place : in.data(), out.data(), 8, f32,
                             communicator);
                 });
  expect_error(ErrorKind::invalid_argument, "it should have 24", [&](int, Communicator& each) {
    std::vector<float> out(23);
    allgather(in, out, each);
  });
  expect_error(ErrorKind::invalid_argument, "overflows", [&](int, Communicator& communicator) {
    std::vector<float> out(24);
    allgather(some.data(), out.data(), PTRDIFF_MAX / 8, f32, communicator);
  });
}

}  // namespace
}  // namespace cohom::test
