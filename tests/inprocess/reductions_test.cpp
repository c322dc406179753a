// reduce_scatter and reduce beside allreduce: the same sums, where they are wanted.

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
#include <cohom/transport.hpp>

#include <gtest/gtest.h>

#include <algorithm>
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

constexpr std::size_t whole_blocks = 4096;  // of every codec

Options options_of(std::string_view codec, std::string_view algorithm,
                   ReduceOp op = ReduceOp::sum) {
  return {.codec = std::string(codec),
          .algorithm = std::string(algorithm),
          .op = op,
          .native = "never"};
}

/// Runs a plan's call on copies of the input, with fences around the output.
Bytes run(Plan& plan, const Bytes& input, std::size_t output_bytes, std::size_t misalignment) {
  GuardedBuffer source(input.size(), misalignment);
  GuardedBuffer target(output_bytes, misalignment);
  source.fill(input);
  plan.execute(source.data(), target.data());
  EXPECT_TRUE(same_bytes(source.bytes(), input)) << "the input was written";
  EXPECT_TRUE(source.fences_intact());
  EXPECT_TRUE(target.fences_intact()) << "written outside the output";
  return {target.bytes().begin(), target.bytes().end()};
}

std::span<const std::byte> part_of(const Bytes& vector, int rank, int ranks) {
  const std::size_t bytes = vector.size() / std::size_t(ranks);
  return std::span(vector).subspan(std::size_t(rank) * bytes, bytes);
}

/// What allreduce gives, where the codec's sums do not depend on the order of additions.
void expect_parts_of_allreduce(std::string_view codec, std::string_view algorithm,
                               const RankInputs& inputs, Communicator& communicator, ReduceOp op) {
  const int rank = communicator.rank(), ranks = communicator.ranks();
  const std::size_t count = inputs.count() / std::size_t(ranks);
  const ElementType type = inputs.type();
  const Options options = options_of(codec, algorithm, op);
  SCOPED_TRACE(options.codec + " " + options.algorithm + " rank " + std::to_string(rank) + " of " +
               inputs.name());
  AllreducePlan all(communicator, inputs.count(), type, options);
  const Bytes sum = run(all, inputs.bytes(rank), inputs.bytes(rank).size(), 0);

  ReduceScatterPlan scatter(communicator, count, type, options);
  const auto part = part_of(sum, rank, ranks);
  EXPECT_TRUE(same_bytes(run(scatter, inputs.bytes(rank), part.size(), size_of(type)), part));
  scatter.reset_state();  // back to step 0: the same draws
  GuardedBuffer in_place(sum.size(), 0);
  in_place.fill(inputs.bytes(rank));
  scatter.execute(in_place.data(), in_place.data());
  EXPECT_TRUE(same_bytes(in_place.bytes().first(part.size()), part)) << "in place";
  EXPECT_TRUE(same_bytes(in_place.bytes().subspan(part.size()),
                         std::span(inputs.bytes(rank)).subspan(part.size())))
      << "written behind the part";

  const int root = ranks / 2;
  ReducePlan reduce(communicator, inputs.count(), type, root, options);
  if (rank == root) {
    EXPECT_TRUE(same_bytes(run(reduce, inputs.bytes(rank), sum.size(), size_of(type)), sum));
    reduce.reset_state();
    in_place.fill(inputs.bytes(rank));
    reduce.execute(in_place.data(), in_place.data());
    EXPECT_TRUE(same_bytes(in_place.bytes(), sum)) << "in place";
  } else {
    void* const no_memory = reinterpret_cast<void*>(8);  // nobody looks at it
    reduce.execute(inputs.bytes(rank).data(), nullptr);
    reduce.reset_state();
    reduce.execute(inputs.bytes(rank).data(), no_memory);
  }
}

class Reductions : public ::testing::TestWithParam<int> {};

TEST_P(Reductions, ArePartsOfAnAllreduce) {
  const int ranks = GetParam();
  const ElementType types[] = {ElementType::f32, ElementType::bf16, ElementType::f64,
                               ElementType::f16};
  const ElementType type = types[std::size_t(ranks) % 4];
  const RankInputs inputs(ranks, type, whole_blocks * std::size_t(ranks));
  on_ranks(ranks, [&](int, Communicator& communicator) {
    CaseShare share(3, races_only ? 41 : 7);
    std::size_t number = 0;
    for (const CodecSpec& codec : specs_for(ranks)) {
      for (const std::string_view algorithm : {"ring", "direct", "auto", "tree", "grid"}) {
        if (share.skips_this() || (adds_floats(codec.spec, type) && algorithm == "auto")) continue;
        // Whole vectors are summed alike, whatever the algorithm.
        if ((algorithm == "tree" || algorithm == "grid") && number % 3 != 0) continue;
        expect_parts_of_allreduce(codec.spec, algorithm, inputs, communicator,
                                  number++ % 2 == 0 ? ReduceOp::sum : ReduceOp::mean);
      }
    }
  });
}

TEST_P(Reductions, OfAnyLengthAreSums) {
  const int ranks = GetParam();
  for (const std::size_t count : {0, 1, 17, 255, 1000, 4097}) {
    const RankInputs inputs(ranks, ElementType::f32, count * std::size_t(ranks), count + 1);
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      CaseShare share(3, races_only ? 41 : 7);
      for (const CodecSpec& codec : specs_for(ranks)) {
        for (const std::string_view algorithm : {"ring", "direct"}) {
          if (share.skips_this()) continue;
          SCOPED_TRACE(std::string(codec.spec) + " " + std::string(algorithm) + " " +
                       inputs.name());
          ReduceScatterPlan plan(communicator, count, ElementType::f32,
                                 options_of(codec.spec, algorithm));
          const Bytes part = run(plan, inputs.bytes(rank), 4 * count, 4);
          const auto values = to_values(ElementType::f32, part);
          double error = 0, energy = 0;
          for (std::size_t i = 0; i < count; ++i) {
            const double right = inputs.sum()[std::size_t(rank) * count + i];
            error += (values[i] - right) * (values[i] - right);
            energy += right * right;
          }
          // Parts of a few elements scatter: sums of signs most.
          if (count >= 1000 && codec.error(ranks) == 0) {
            EXPECT_LE(error, 1e-12 * energy);
          } else if (count >= 1000) {
            EXPECT_LE(error, 2.5 * codec.error(ranks) * ranks * double(count));
          }
        }
      }
    });
  }
}

std::vector<int> ranks_of_parts() {
  return is_slow() ? tested_ranks() : std::vector{1, 2, 3, 4, 5, 7, 8, 16};
}

INSTANTIATE_TEST_SUITE_P(Ranks, Reductions, ::testing::ValuesIn(ranks_of_parts()));

class Halves : public ::testing::TestWithParam<int> {};

// What FSDP does: sums of parts, which then travel as they are.
TEST_P(Halves, MakeAnAllreduce) {
  const int ranks = GetParam();
  const RankInputs inputs(ranks, ElementType::f32, whole_blocks * std::size_t(ranks));
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    std::size_t number = 0;
    for (const CodecSpec& codec : specs_for(ranks)) {
      if (adds_floats(codec.spec, inputs.type())) continue;
      const Options options = options_of(codec.spec, number++ % 2 == 0 ? "ring" : "direct");
      SCOPED_TRACE(options.codec + " " + options.algorithm + " rank " + std::to_string(rank) +
                   " of " + inputs.name());
      AllreducePlan all(communicator, inputs.count(), inputs.type(), options);
      ReduceScatterPlan scatter(communicator, whole_blocks, inputs.type(), options);
      AllgatherPlan gather(communicator, whole_blocks, inputs.type(), options_of("raw", "auto"));
      const Bytes& input = inputs.bytes(rank);
      const Bytes part = run(scatter, input, input.size() / std::size_t(ranks), 0);
      EXPECT_TRUE(same_bytes(run(gather, part, input.size(), 0), run(all, input, input.size(), 0)));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Halves,
                         ::testing::ValuesIn(is_slow() ? std::vector{2, 5}
                                                       : std::vector{1, 2, 3, 4, 5, 7, 8, 16}));

// What the payload does not hold travels apart, from all ranks to all ranks, and is decoded where
// it is wanted.
TEST(ReductionsOf, OutliersAreThoseOfAnAllreduce) {
  constexpr int ranks = 3;
  RankInputs inputs(ranks, ElementType::f32, ranks * whole_blocks);
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const auto& [rank, element, value] :
       {std::tuple{0, std::size_t(5), inf}, std::tuple{1, whole_blocks + 9, 3e38f},
        std::tuple{2, whole_blocks + 9, 3e38f},
        std::tuple{2, 3 * whole_blocks - 1, std::numeric_limits<float>::quiet_NaN()},
        std::tuple{1, whole_blocks - 1, 1e-40f}, std::tuple{1, whole_blocks, -1e30f}})
    std::memcpy(inputs.mutable_bytes(rank).data() + 4 * element, &value, 4);
  on_ranks(ranks, [&](int, Communicator& communicator) {
    for (const CodecSpec& codec : specs_for(ranks))
      for (const std::string_view algorithm : {"ring", "direct"})
        expect_parts_of_allreduce(codec.spec, algorithm, inputs, communicator, ReduceOp::sum);
  });
}

// Neighbouring outliers are one run, and runs are cut where their own vector is, not where parts
// are.
TEST(ReductionsOf, OutliersLieAcrossParts) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr std::size_t step = 64;  // of the smallest block
  for (const int ranks : {2, 3, 5}) {
    const std::size_t count = whole_blocks * std::size_t(ranks);
    const std::pair<std::size_t, std::size_t> runs[] = {
        {2 * step, count},
        {whole_blocks - 2 * step, whole_blocks + 2 * step},
        {whole_blocks - 3000, whole_blocks + 1000},
        {whole_blocks - 1000, count - 1}};
    for (const auto& [first, end] : runs) {
      RankInputs inputs(ranks, ElementType::f32, count);
      for (std::size_t i = first; i < end; i += step)
        std::memcpy(inputs.mutable_bytes(ranks - 1).data() + 4 * i, &nan, 4);
      on_ranks(ranks, [&](int, Communicator& communicator) {
        for (const auto* codec : {"thc", "thc:rotation=64", "signcount", "exact"})
          for (const auto* algorithm : {"ring", "direct"})
            expect_parts_of_allreduce(codec, algorithm, inputs, communicator, ReduceOp::sum);
      });
    }
  }
}

std::uint64_t bytes_of(Communicator& communicator, const std::function<void()>& call) {
  const std::uint64_t before = communicator.wire_counters().bytes_sent;
  call();
  return communicator.wire_counters().bytes_sent - before;
}

TEST(ReductionsOf, PartsTakeFewerBytes) {
  constexpr int ranks = 4;
  constexpr std::size_t count = 16 * whole_blocks;
  const RankInputs inputs(ranks, ElementType::f32, ranks * count);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    Bytes output(inputs.bytes(rank).size());
    for (const auto* codec : {"raw", "thc", "signcount", "exact", "sparse"}) {
      for (const auto* algorithm : {"ring", "direct"}) {
        const Options options = options_of(codec, algorithm);
        const void* const input = inputs.bytes(rank).data();
        const auto all = bytes_of(communicator, [&] {
          allreduce(input, output.data(), ranks * count, ElementType::f32, communicator, options);
        });
        const auto part = bytes_of(communicator, [&] {
          reduce_scatter(input, output.data(), count, ElementType::f32, communicator, options);
        });
        const auto to_root = bytes_of(communicator, [&] {
          reduce(input, rank == 1 ? output.data() : nullptr, ranks * count, ElementType::f32, 1,
                 communicator, options);
        });
        EXPECT_LT(double(part), 0.6 * double(all)) << codec << " " << algorithm;
        EXPECT_LT(double(to_root), 0.8 * double(all)) << codec << " " << algorithm;
      }
    }
  });
}

TEST(ReductionsOf, SeveralAreInFlight) {
  constexpr int ranks = 3;
  const RankInputs inputs(ranks, ElementType::f32, ranks * whole_blocks);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const void* const input = inputs.bytes(rank).data();
    std::vector<Bytes> parts(4, Bytes(4 * whole_blocks));
    Bytes sum(inputs.bytes(rank).size());
    const Options options = options_of("thc", "direct");
    std::vector<Request> requests;
    for (Bytes& part : parts)
      requests.push_back(reduce_scatter_start(input, part.data(), whole_blocks, ElementType::f32,
                                              communicator, options));
    requests.push_back(reduce_start(input, rank == 2 ? sum.data() : nullptr, inputs.count(),
                                    ElementType::f32, 2, communicator, options));
    for (auto request = requests.rbegin(); request != requests.rend(); ++request) request->wait();
    const auto values = to_values(ElementType::f32, parts.back());
    double error = 0;
    for (std::size_t i = 0; i < whole_blocks; ++i) {
      const double right = inputs.sum()[std::size_t(rank) * whole_blocks + i];
      error += (values[i] - right) * (values[i] - right);
    }
    EXPECT_LT(error, 0.1 * ranks * whole_blocks);
    if (rank == 2) {
      EXPECT_LT(inputs.error_of(sum), 0.1);
    }
  });
}

TEST(ReductionsOf, TypedRangesHaveTheRightSizes) {
  constexpr int ranks = 2;
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const std::vector<float> input{1, 2, 3, 4};
    std::vector<float> output(2);
    reduce_scatter(input, output, communicator, options_of("raw", "auto"));
    EXPECT_EQ(output, (rank == 0 ? std::vector<float>{2, 4} : std::vector<float>{6, 8}));
    std::vector<float> longer(3);
    try {
      reduce_scatter(input, longer, communicator, options_of("raw", "auto"));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("it should have 6"), std::string::npos)
          << error.what();
    }
  });
}

TEST(ReductionsOf, TypedReduceNeedsAnOutputOnTheRootAlone) {
  constexpr int ranks = 3, root = 2;
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const std::vector<double> input{1, double(rank), 3};
    std::vector<double> output(rank == root ? 3 : rank);
    const std::vector<double> before = output;
    reduce(input, output, root, communicator, options_of("raw", "auto"));
    EXPECT_EQ(output, (rank == root ? std::vector<double>{3, 3, 9} : before));
    std::vector<double> shorter(2);
    try {
      reduce(input, shorter, root, communicator, options_of("raw", "auto"));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("should have 3, as the input"), std::string::npos)
          << error.what();
    }
    for (const int wrong : {-1, ranks})
      EXPECT_THROW(reduce(input, output, wrong, communicator, options_of("raw", "auto")), Error);
  });
}

static_assert(element_type_v<::__half> == ElementType::f16);
static_assert(element_type_v<::__nv_bfloat16> == ElementType::bf16);

#ifdef COHOM_HAS_FLOAT16
TEST(ReductionsOf, CompilersHalvesAreElements) {
  on_ranks(2, [](int rank, Communicator& communicator) {
    const std::vector<_Float16> input{_Float16(0.5), _Float16(rank), 3, 4};
    std::vector<_Float16> output(2);
    reduce_scatter(input, output, communicator, options_of("raw", "auto"));
    EXPECT_EQ(float(output[1]), rank == 0 ? 1 : 8);
  });
}
#endif

void expect_error(ErrorKind kind, std::string_view text,
                  const std::function<void(int, Communicator&)>& call) {
  expect_errors(3, kind, text, call, [](int, Communicator& communicator) {
    std::vector<float> ones(6, 1);
    allreduce(ones, communicator, options_of("raw", "auto"));
    EXPECT_EQ(ones, std::vector<float>(6, 3));
  });
}

TEST(ReductionsOf, WrongArgumentsAreErrorsOnAllRanks) {
  std::vector<float> some(8192, 1);
  const auto f32 = ElementType::f32;
  expect_error(ErrorKind::invalid_argument, "root is 3; it should be 0 to 2",
               [&](int, Communicator& communicator) {
                 std::vector<float> out(8);
                 reduce(some.data(), out.data(), 8, f32, 3, communicator);
               });
  expect_error(ErrorKind::mismatch, "reduce to rank", [&](int rank, Communicator& communicator) {
    std::vector<float> out(8);
    reduce(some.data(), out.data(), 8, f32, rank == 2 ? 1 : 0, communicator);
  });
  expect_error(ErrorKind::mismatch, "reduce_scatter", [&](int rank, Communicator& communicator) {
    std::vector<float> out(8);
    if (rank == 0)
      allreduce(some.data(), out.data(), 8, f32, communicator);
    else
      reduce_scatter(some.data(), out.data(), 8, f32, communicator);
  });
  expect_error(
      ErrorKind::invalid_argument, "output is null", [&](int rank, Communicator& communicator) {
        std::vector<float> out(8);
        reduce_scatter(some.data(), rank == 1 ? nullptr : out.data(), 8, f32, communicator);
      });
  expect_error(ErrorKind::invalid_argument, "overlap", [&](int rank, Communicator& communicator) {
    std::vector<float> in(24), out(8);
    reduce_scatter(in.data(), rank == 1 ? in.data() + 20 : out.data(), 8, f32, communicator);
  });
  expect_error(ErrorKind::invalid_argument, "overflows", [&](int, Communicator& communicator) {
    std::vector<float> out(8);
    reduce_scatter(some.data(), out.data(), PTRDIFF_MAX / 8, f32, communicator);
  });
}

}  // namespace
}  // namespace cohom::test
