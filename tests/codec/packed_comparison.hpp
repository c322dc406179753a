#pragma once
// The kernels of packed beside the scalar reference: the same bits, and nothing outside of the
// buffers.

#include "elements.hpp"
#include "fenced_words.hpp"
#include "guarded_buffer.hpp"
#include "kernels/packed/body/packed_payload.hpp"
#include "kernels/packed/body/packed_quantize.hpp"
#include "kernels/packed/cpu/packed_rows.hpp"
#include "kernels/table/kernel_table.hpp"
#include "nasty_values.hpp"
#include "same_bytes.hpp"
#include "tested_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {

using kernels::ConstPackedPayload;
using kernels::Dither;
using kernels::packed_capacity;
using kernels::packed_groups;
using kernels::PackedKernels;
using kernels::PackedQuantizer;
using kernels::PackedRun;
using Words = std::vector<std::uint64_t>;

constexpr std::size_t all_counts[] = {1, 31, 32, 33, 1000, 1023, 1024, 1025, 5000};

inline const PackedKernels& reference() {
  static const PackedKernels kernels = kernels::scalar_packed();
  return kernels;
}

class PackedEquality : public testing::TestWithParam<TestedTable> {
 protected:
  const PackedKernels& tested = GetParam().table->packed;
};

/// Normal values whose scale differs by up to 2^(+-spread) from mini-block to mini-block.
inline std::vector<double> skewed_values(std::size_t count, double spread, std::uint64_t seed) {
  std::vector<double> values = normal_values(count, seed);
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> exponent(-spread, spread);
  double scale = 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 32 == 0) scale = std::exp2(exponent(engine));
    values[i] *= scale;
  }
  return values;
}

inline std::vector<double> integers(std::size_t count, unsigned max_bits, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<double> values(count);
  std::int64_t range = 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 32 == 0) range = std::int64_t{1} << (engine() % max_bits);
    values[i] =
        static_cast<double>(static_cast<std::int64_t>(engine() % std::uint64_t(2 * range)) - range);
    if (i % 32 == 0 && engine() % 4 == 0) values[i] = static_cast<double>(-range);
  }
  return values;
}

/// The integers as they are: f64, step 1. Magnitudes above `limit` are outliers.
inline Words payload_of(const std::vector<double>& values, double limit, bool differences = false) {
  const PackedQuantizer exact{
      .in_f64 = true, .differences = differences, .limit = limit, .dither = Dither::nearest};
  Words words(packed_capacity(values.size(), differences));
  words.resize(reference().encode(exact, {ElementType::f64, 0, values.size()}, values.data(),
                                  nullptr, words.data()));
  return words;
}

// ---- encode, decode

struct Values {
  std::string name;
  std::vector<double> (*make)(std::size_t count, std::uint64_t seed);
};

inline const Values all_values[] = {
    {"even", [](std::size_t count, std::uint64_t seed) { return skewed_values(count, 1, seed); }},
    {"skewed", [](std::size_t count, std::uint64_t seed) { return skewed_values(count, 4, seed); }},
    {"wild", [](std::size_t count, std::uint64_t seed) { return skewed_values(count, 25, seed); }},
    {"ties",
     [](std::size_t count, std::uint64_t seed) {
       std::vector<double> values = integers(count, 12, seed);
       for (double& value : values) value *= 0.25;  // steps of 0.5: ties
       return values;
     }},
    {"nasty", nasty_values},
    {"extremes",
     [](std::size_t count, std::uint64_t seed) {
       std::vector<double> values = skewed_values(count, 1, seed);
       for (std::size_t i = 0; i < count; i += 7) values[i] = (i % 14 == 0 ? 1e30 : -1e-30);
       for (std::size_t i = 5; i < count; i += 211)
         values[i] = i % 3 == 0 ? std::nan("") : -HUGE_VAL;
       return values;
     }},
};

inline std::vector<PackedQuantizer> quantizers() {
  static const std::vector<std::uint8_t> offsets = {7, 200, 93, 0, 255};
  std::vector<PackedQuantizer> all;
  for (const Dither dither : {Dither::nearest, Dither::independent, Dither::correlated})
    for (const bool in_f64 : {false, true})
      for (const double limit : {0x1p27 - 1, 100.0, 5.0})
        for (const bool differences : {false, true})
          all.push_back({.step = 0.5,
                         .in_f64 = in_f64,
                         .drops_small = !in_f64,
                         .differences = differences,
                         .limit = limit,
                         .dither = dither,
                         .dither_key = 0x123456789abcdef,
                         .permutation_key = 77,
                         .dither_offsets = offsets});
  all.push_back({.step = 0x1p-140, .in_f64 = true, .limit = 0x1p28, .dither = Dither::nearest});
  all.push_back({.step = 0x1p-1060, .in_f64 = true, .limit = 0x1p28, .dither = Dither::nearest});
  all.push_back({.step = 3e-5, .in_f64 = true, .limit = 0x1p28, .dither = Dither::nearest});
  all.push_back({.step = 0.3, .drops_small = false, .limit = 0x1p28, .dither = Dither::nearest});
  return all;
}

inline std::string describe(const PackedQuantizer& quantizer) {
  return "step " + std::to_string(quantizer.step) + (quantizer.in_f64 ? " f64" : "") +
         (quantizer.differences ? " differences" : "") + " limit " +
         std::to_string(quantizer.limit) + " dither " +
         std::to_string(static_cast<int>(quantizer.dither));
}

inline void compare_decode(const PackedKernels& tested, const PackedRun& run,
                           ConstPackedPayload payload, double step, bool in_f64,
                           std::uint64_t divisor) {
  const std::size_t bytes = run.count * size_of(run.type);
  const std::size_t groups = packed_groups(run.count);
  Bytes expected(bytes, std::byte{0x5a});
  std::vector<std::uint32_t> expected_outliers(groups, 99);
  const bool fits = reference().decode(run, payload, step, in_f64, divisor,
                                       expected_outliers.data(), expected.data());
  for (const std::size_t misalignment : {std::size_t{0}, size_of(run.type)}) {
    GuardedBuffer found(bytes, misalignment);
    found.fill(Bytes(bytes, std::byte{0x5a}));
    GuardedBuffer outliers(groups * 4, 4);
    ASSERT_EQ(tested.decode(run, payload, step, in_f64, divisor,
                            reinterpret_cast<std::uint32_t*>(outliers.data()), found.data()),
              fits);
    if (!fits) return;
    ASSERT_TRUE(same_bytes(found.bytes(), expected));
    ASSERT_TRUE(found.fences_intact());
    ASSERT_TRUE(same_bytes(outliers.bytes(), std::as_bytes(std::span(expected_outliers))));
    ASSERT_TRUE(outliers.fences_intact());
  }
}

inline void compare_encode(const PackedKernels& tested, const PackedQuantizer& quantizer,
                           const PackedRun& run, const Bytes& input,
                           std::optional<Bytes> feedback) {
  const std::size_t capacity = packed_capacity(run.count, quantizer.differences);
  Words expected(capacity);
  std::optional<Bytes> expected_feedback = feedback;
  expected.resize(reference().encode(quantizer, run, input.data(),
                                     feedback ? expected_feedback->data() : nullptr,
                                     expected.data()));
  GuardedBuffer unaligned(input.size(), size_of(run.type));
  unaligned.fill(input);
  GuardedBuffer state(feedback ? feedback->size() : 0, 4);
  if (feedback) state.fill(*feedback);
  FencedWords found(capacity);
  const std::size_t words = tested.encode(quantizer, run, unaligned.data(),
                                          feedback ? state.data() : nullptr, found.data());
  ASSERT_EQ(words, expected.size());
  ASSERT_TRUE(
      same_bytes(std::as_bytes(found.words().first(words)), std::as_bytes(std::span(expected))));
  if (feedback) {
    ASSERT_TRUE(same_bytes(state.bytes(), *expected_feedback));
    ASSERT_TRUE(state.fences_intact());
    return;
  }
  const FencedWords payload{std::span<const std::uint64_t>(expected)};
  for (const std::uint64_t divisor : {1, 7})
    compare_decode(tested, run, payload.words(), quantizer.step, quantizer.in_f64, divisor);
  PackedRun far = run;
  far.first = std::size_t{64} << 20;
  compare_decode(tested, far, payload.words(), quantizer.step, quantizer.in_f64, 1);
}

inline void compare_values(const PackedKernels& tested, const Values& values, ElementType type,
                           std::size_t count) {
  SCOPED_TRACE(values.name + " " + std::string(name_of(type)) + ", " + std::to_string(count) +
               " elements");
  const PackedRun run{type, 5 * kernels::packed_group, count};
  const std::vector<double> numbers = values.make(count, count);
  const Bytes input = to_bytes(type, numbers);
  const ElementType state = type == ElementType::f64 ? ElementType::f64 : ElementType::f32;
  for (const PackedQuantizer& quantizer : quantizers()) {
    SCOPED_TRACE(describe(quantizer));
    compare_encode(tested, quantizer, run, input, {});
    if (testing::Test::HasFatalFailure()) return;
    compare_encode(tested, quantizer, run, input, to_bytes(state, numbers));
    if (testing::Test::HasFatalFailure()) return;
  }
}

// ---- measure

// ---- merge, shift

inline void compare_merge(const PackedKernels& tested, std::size_t groups,
                          const std::vector<Words>& payloads) {
  std::vector<ConstPackedPayload> sources(payloads.begin(), payloads.end());
  std::vector<FencedWords> fenced;
  std::vector<ConstPackedPayload> fenced_sources;
  for (const Words& payload : payloads)
    fenced.emplace_back(std::span<const std::uint64_t>(payload));
  for (const FencedWords& payload : fenced) fenced_sources.push_back(payload.words());
  const bool based = !payloads[0].empty() && (payloads[0][0] >> 31 & 1) != 0;
  const std::size_t capacity = packed_capacity(groups * kernels::packed_group, based);
  Words expected(capacity);
  expected.resize(reference().merge(groups, sources.data(), sources.size(), expected.data()));
  FencedWords found(capacity);
  const std::size_t words =
      tested.merge(groups, fenced_sources.data(), fenced_sources.size(), found.data());
  ASSERT_EQ(words, expected.size());
  ASSERT_TRUE(
      same_bytes(std::as_bytes(found.words().first(words)), std::as_bytes(std::span(expected))));
}

inline void compare_shift(const PackedKernels& tested, std::size_t groups, const Words& payload,
                          unsigned by) {
  SCOPED_TRACE("shift by " + std::to_string(by));
  Words expected(packed_capacity(groups * kernels::packed_group, false));
  expected.resize(reference().shift(groups, payload, by, expected.data()));
  const FencedWords source{std::span<const std::uint64_t>(payload)};
  FencedWords found(packed_capacity(groups * kernels::packed_group, false));
  std::size_t words = tested.shift(groups, source.words(), by, found.data());
  ASSERT_EQ(words, expected.size());
  ASSERT_TRUE(
      same_bytes(std::as_bytes(found.words().first(words)), std::as_bytes(std::span(expected))));
  FencedWords in_place{std::span<const std::uint64_t>(payload)};
  words = tested.shift(groups, in_place.words(), by, in_place.data());
  ASSERT_EQ(words, expected.size());
  ASSERT_TRUE(
      same_bytes(std::as_bytes(in_place.words().first(words)), std::as_bytes(std::span(expected))));
}

}  // namespace cohom::test
