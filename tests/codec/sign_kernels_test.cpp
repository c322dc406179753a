// The one-bit kernels of every instruction set and device have the bits of the scalar reference.

#include "codecs/common/lane_layout.hpp"
#include "elements.hpp"
#include "kernels/table/kernel_table.hpp"
#include "same_bytes.hpp"
#include "tested_tables.hpp"
#include "thoroughness.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

using kernels::SignBlock;
using kernels::SignRun;
using WordVector = std::vector<std::uint64_t>;

/// Normal values with zeros of both signs, denormals, large values and blocks that are not finite.
Bytes spoilt_vector(ElementType type, std::size_t count, std::uint64_t seed) {
  auto values = normal_values(count, seed);
  const double tiny = type == ElementType::f64 ? 1e-310 : 1e-41;
  const double huge = type == ElementType::f64 ? 1e300 : type == ElementType::f16 ? 3e4 : 1e37;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 7 == 0) values[i] = i % 2 == 0 ? 0.0 : -0.0;
    if (i / 1024 % 5 == 1) values[i] *= tiny;
    if (i / 1024 % 5 == 2) values[i] *= huge;
    if (i / 1024 % 5 == 3) values[i] = 0;
  }
  if (count > 4500) values[4500] = std::numeric_limits<double>::infinity();
  return to_bytes(type, values);
}

/// All that one rank does, by one row of kernels; words and elements as bytes.
std::vector<Bytes> run_all(const kernels::KernelTable& table, ElementType type, std::size_t count,
                           std::uint32_t ranks) {
  const kernels::SignKernels& sign = table.sign;
  const SignRun run{type, 0, count};
  const std::size_t blocks = (count + 1023) / 1024;
  const kernels::SignCounts counts{ranks, smallest_lane_width(ranks)};
  const std::size_t state_size = type == ElementType::f64 ? 8 : 4;
  std::vector<Bytes> all;
  const auto keep = [&](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    all.emplace_back(bytes.begin(), bytes.end());
  };

  const Bytes input = spoilt_vector(type, count, 3);
  Bytes state =
      to_bytes(type == ElementType::f64 ? type : ElementType::f32, normal_values(count, 4, 0.5));
  for (const bool of_input : {false, true})
    for (void* fed : {static_cast<void*>(nullptr), static_cast<void*>(state.data())}) {
      std::vector<SignBlock> found(blocks);
      sign.measure(run, input.data(), fed, of_input, found.data());
      std::vector<double> numbers;
      for (const SignBlock& block : found) {
        numbers.push_back(block.code);
        numbers.push_back(block.alive);
        numbers.push_back(block.sum);
      }
      keep(numbers);
      keep(state);
    }

  std::vector<double> scales(blocks);
  for (std::size_t b = 0; b < blocks; ++b) scales[b] = b % 6 == 4 ? -1 : b % 6 == 3 ? 0 : 0.75;
  const std::size_t words = words_of_run(count, 1024, 1);
  std::vector<WordVector> signs(ranks, WordVector(words));
  std::vector<const std::uint64_t*> contributions;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const Bytes own = spoilt_vector(type, count, 10 + r);
    sign.pack(run, own.data(), nullptr, scales.data(), r % 2 == 0, signs[r].data());
    contributions.push_back(signs[r].data());
    keep(signs[r]);
  }
  WordVector fed(words);
  sign.pack(run, input.data(), state.data(), scales.data(), true, fed.data());
  keep(fed);
  sign.pack_feedback(run, state.data(), scales.data(), false, fed.data());
  keep(fed);
  keep(state);

  WordVector sum(words_of_run(count, 1024, counts.width));
  sign.count(counts, run, contributions.data(), ranks, sum.data());
  keep(sum);
  Bytes output(count * size_of(type));
  for (const std::uint64_t divisor : {1u, ranks}) {
    sign.expand_counts(counts, run, sum.data(), scales.data(), divisor, output.data());
    keep(output);
    sign.expand(run, fed.data(), scales.data(), ranks, divisor, nullptr, output.data());
    keep(output);
  }
  Bytes longer = state;
  EXPECT_EQ(longer.size(), count * state_size);
  sign.expand(run, fed.data(), scales.data(), ranks, 1, longer.data(), output.data());
  keep(output);
  keep(longer);
  const SignRun far{type, std::size_t{64} << 20, count};  // where output goes around the caches
  sign.expand_counts(counts, far, sum.data(), scales.data(), 1, output.data());
  keep(output);
  if (ranks > 1)
    for (const bool odd : {false, true}) {
      WordVector outcome(words);
      sign.majority(counts, run, sum.data(), odd, outcome.data());
      keep(outcome);
      WordVector in_place = sum;
      sign.majority(counts, run, in_place.data(), odd, in_place.data());
      in_place.resize(words);
      EXPECT_EQ(in_place, outcome);
    }
  return all;
}

class SignEquality : public testing::TestWithParam<std::tuple<TestedTable, ElementType>> {};

TEST_P(SignEquality, MatchesReference) {
  const auto& [tested, type] = GetParam();
  CaseShare share(3, 5);
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 7u, 8u, 15u, 16u, 40u, 100u, 200u, 300u})
    for (const std::size_t count : {0, 1, 16, 17, 1023, 1024, 1025, 2048, 7000}) {
      if (share.skips_this()) continue;
      const auto expected =
          run_all(kernels::kernel_table(kernels::Isa::scalar), type, count, ranks);
      const auto found = run_all(*tested.table, type, count, ranks);
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_TRUE(same_bytes(found[i], expected[i]))
            << "part " << i << ", " << count << " elements, " << ranks << " ranks";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Tables, SignEquality,
    testing::Combine(testing::ValuesIn(tables_beside_reference()),
                     testing::ValuesIn(std::vector(std::begin(all_element_types),
                                                   std::end(all_element_types)))),
    [](const auto& test) {
      return std::get<0>(test.param).name + "_" + std::string(name_of(std::get<1>(test.param)));
    });

}  // namespace
}  // namespace cohom::test
