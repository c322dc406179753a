// packed: every instruction set gives the bits of the scalar reference, and stays inside its buffers.

#include "elements.hpp"
#include "fenced_words.hpp"
#include "guarded_buffer.hpp"
#include "kernels/body/packed_payload.hpp"
#include "kernels/body/packed_quantize.hpp"
#include "kernels/cpu/scalar_packed.hpp"
#include "kernels/kernel_table.hpp"
#include "nasty_values.hpp"
#include "same_bytes.hpp"

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
namespace {

using kernels::Dither;
using kernels::Isa;
using kernels::packed_capacity;
using kernels::packed_groups;
using kernels::PackedKernels;
using kernels::PackedQuantizer;
using kernels::PackedRun;
using kernels::PackedWords;
using Words = std::vector<std::uint64_t>;

constexpr std::size_t all_counts[] = {1, 31, 32, 33, 1000, 1023, 1024, 1025, 5000};

const PackedKernels& reference() {
  static const PackedKernels kernels = kernels::scalar_packed();
  return kernels;
}

class PackedEquality : public testing::TestWithParam<Isa> {
 protected:
  const PackedKernels& tested = kernels::kernel_table(GetParam()).packed;
};

/// Normal values whose scale differs by up to 2^(+-spread) from mini-block to mini-block.
std::vector<double> skewed_values(std::size_t count, double spread, std::uint64_t seed) {
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

std::vector<double> integers(std::size_t count, unsigned most_bits, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<double> values(count);
  std::int64_t range = 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 32 == 0) range = std::int64_t{1} << (engine() % most_bits);
    values[i] =
        static_cast<double>(static_cast<std::int64_t>(engine() % std::uint64_t(2 * range)) - range);
    if (i % 32 == 0 && engine() % 4 == 0) values[i] = static_cast<double>(-range);
  }
  return values;
}

/// The integers as they are: f64, step 1. Magnitudes above `limit` escape.
Words payload_of(const std::vector<double>& values, double limit, bool differences = false) {
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

const Values all_values[] = {
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

std::vector<PackedQuantizer> quantizers() {
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

std::string describe(const PackedQuantizer& quantizer) {
  return "step " + std::to_string(quantizer.step) + (quantizer.in_f64 ? " f64" : "") +
         (quantizer.differences ? " differences" : "") + " limit " +
         std::to_string(quantizer.limit) + " dither " +
         std::to_string(static_cast<int>(quantizer.dither));
}

void compare_decode(const PackedKernels& tested, const PackedRun& run, PackedWords payload,
                    double step, bool in_f64, std::uint64_t divisor) {
  const std::size_t bytes = run.count * size_of(run.type);
  const std::size_t groups = packed_groups(run.count);
  Bytes expected(bytes, std::byte{0x5a});
  std::vector<std::uint32_t> expected_escapes(groups, 99);
  const bool fits = reference().decode(run, payload, step, in_f64, divisor, expected_escapes.data(),
                                       expected.data());
  for (const std::size_t misalignment : {std::size_t{0}, size_of(run.type)}) {
    GuardedBuffer found(bytes, misalignment);
    found.fill(Bytes(bytes, std::byte{0x5a}));
    GuardedBuffer escapes(groups * 4, 4);
    ASSERT_EQ(tested.decode(run, payload, step, in_f64, divisor,
                            reinterpret_cast<std::uint32_t*>(escapes.data()), found.data()),
              fits);
    if (!fits) return;
    ASSERT_TRUE(same_bytes(found.bytes(), expected));
    ASSERT_TRUE(found.fences_intact());
    ASSERT_TRUE(same_bytes(escapes.bytes(), std::as_bytes(std::span(expected_escapes))));
    ASSERT_TRUE(escapes.fences_intact());
  }
}

void compare_encode(const PackedKernels& tested, const PackedQuantizer& quantizer,
                    const PackedRun& run, const Bytes& input, std::optional<Bytes> feedback) {
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

void compare_values(const PackedKernels& tested, const Values& values, ElementType type,
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

TEST_P(PackedEquality, EncodeAndDecode) {
  for (const Values& values : all_values)
    for (const ElementType type : all_element_types)
      for (const std::size_t count : all_counts) {
        compare_values(tested, values, type, count);
        if (HasFatalFailure()) return;
      }
}

/// Every value beside the places where a float's rounding changes, for every dither.
TEST_P(PackedEquality, EncodeAroundIntegers) {
  for (const Dither dither : {Dither::nearest, Dither::independent}) {
    const PackedQuantizer quantizer{.limit = 0x1p28, .dither = dither, .dither_key = 5};
    std::vector<double> values;
    for (int i = -600; i < 600; ++i) {
      const float at = static_cast<float>(i) / 256;
      for (const float value : {std::nextafter(at, -9.f), at, std::nextafter(at, 9.f)})
        values.push_back(value);
    }
    compare_encode(tested, quantizer, {ElementType::f32, 0, values.size()},
                   to_bytes(ElementType::f32, values), {});
  }
}

// ---- measure

TEST_P(PackedEquality, Measure) {
  for (const Values& values : all_values)
    for (const ElementType type : all_element_types)
      for (const std::size_t count : all_counts)
        for (const bool with_feedback : {false, true}) {
          SCOPED_TRACE(values.name + " " + std::string(name_of(type)) + ", " +
                       std::to_string(count) + (with_feedback ? " with feedback" : ""));
          const PackedRun run{type, 0, count};
          const Bytes input = to_bytes(type, values.make(count, 3));
          const ElementType state = type == ElementType::f64 ? type : ElementType::f32;
          Bytes expected_state = to_bytes(state, normal_values(count, 4, 1e-3));
          GuardedBuffer found_state(expected_state.size(), size_of(state));
          found_state.fill(expected_state);
          constexpr std::size_t bins = kernels::body::PackedBins<double>::count;  // the larger
          std::vector<std::uint32_t> expected(bins, 3), found(bins, 3);
          reference().measure(run, input.data(), with_feedback ? expected_state.data() : nullptr,
                              expected.data());
          tested.measure(run, input.data(), with_feedback ? found_state.data() : nullptr,
                         found.data());
          ASSERT_EQ(found, expected);
          ASSERT_TRUE(same_bytes(found_state.bytes(), expected_state));
          ASSERT_TRUE(found_state.fences_intact());
        }
}

// ---- merge, shift

void compare_merge(const PackedKernels& tested, std::size_t groups,
                   const std::vector<Words>& payloads) {
  std::vector<PackedWords> sources(payloads.begin(), payloads.end());
  std::vector<FencedWords> fenced;
  std::vector<PackedWords> fenced_sources;
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

void compare_shift(const PackedKernels& tested, std::size_t groups, const Words& payload,
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

TEST_P(PackedEquality, MergeAndShift) {
  for (const std::size_t count : all_counts)
    for (const unsigned bits : {1u, 4u, 7u, 9u, 17u, 29u})
      for (const bool differences : {false, true})
        for (const std::size_t sources : {1, 2, 3, 4, 5, 8, 16, 17}) {
          SCOPED_TRACE(std::to_string(count) + " elements, " + std::to_string(bits) + " bits, " +
                       std::to_string(sources) + " sources" + (differences ? ", differences" : ""));
          std::vector<Words> payloads;
          for (std::size_t s = 0; s < sources; ++s) {
            // Some escape in every fourth.
            const double limit = s % 4 == 3 ? std::exp2(bits - 1) - 1 : 0x1p29;
            const unsigned own = differences ? std::min(bits, 28u) : bits;
            payloads.push_back(
                payload_of(integers(count, own, 100 * s + bits), limit, differences));
          }
          compare_merge(tested, packed_groups(count), payloads);
          if (HasFatalFailure()) return;
          if (differences || sources > 1) continue;
          for (const unsigned by : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 20u, 29u}) {
            compare_shift(tested, packed_groups(count), payloads[0], by);
            if (HasFatalFailure()) return;
          }
        }
}

/// Every mini-block as wide as it can be: no room is left in the output, nor behind the input.
TEST_P(PackedEquality, FullCapacity) {
  const std::size_t count = 3 * kernels::packed_group;
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = i % 2 == 0 ? -0x1p28 : 0x1p28 - 1;
  const Words payload = payload_of(values, 0x1p29);
  compare_merge(tested, 3, {payload, payload});
  compare_merge(tested, 3, {payload, payload, payload, payload});
  for (const unsigned by : {1u, 8u}) compare_shift(tested, 3, payload, by);
  compare_decode(tested, {ElementType::f32, 0, count}, payload, 0.25, false, 1);
  compare_encode(tested, {.in_f64 = true, .limit = 0x1p29, .dither = Dither::nearest},
                 {ElementType::f64, 0, count}, to_bytes(ElementType::f64, values), {});
}

/// A shift that narrows nothing, in place: what is written must not run ahead of what is read.
TEST_P(PackedEquality, ShiftThatNarrowsNothing) {
  std::vector<double> values(4 * kernels::packed_group, 3.0);
  compare_shift(tested, 4, payload_of(values, 0x1p29), 1);
}

// ---- hostile payloads

/// Each bit is set once in eight.
std::uint32_t seldom_set(std::mt19937_64& engine) {
  std::uint64_t bits = engine();
  for (int i = 0; i < 2; ++i) bits &= engine();
  return static_cast<std::uint32_t>(bits);
}

/// Random headers and planes, with a first word that says what they take.
Words random_payload(std::size_t groups, bool based, unsigned narrow, std::mt19937_64& engine) {
  std::vector<std::uint32_t> followers(groups * (kernels::packed_header + (based ? 1 : 0)));
  for (std::uint32_t& word : followers) word = static_cast<std::uint32_t>(engine());
  std::size_t planes = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    std::uint32_t* const header = followers.data() + g * kernels::packed_header;
    for (unsigned b = 0; b < narrow; ++b) header[4 - b] &= seldom_set(engine);
    planes += kernels::body::plane_words(header);
  }
  for (std::size_t i = 0; i < planes; ++i)
    followers.push_back(static_cast<std::uint32_t>(engine()));
  Words words = {kernels::body::packed_first_word(groups, based, followers.size())};
  for (std::size_t i = 0; i < followers.size(); i += 2)
    words.push_back(followers[i] |
                    std::uint64_t{i + 1 < followers.size() ? followers[i + 1] : 0xdeadbeef} << 32);
  return words;
}

void compare_hostile(const PackedKernels& tested, std::size_t groups,
                     const std::vector<Words>& payloads) {
  compare_merge(tested, groups, payloads);
  for (const Words& payload : payloads) {
    if (testing::Test::HasFatalFailure()) return;
    for (const unsigned by : {1u, 3u}) compare_shift(tested, groups, payload, by);
    const FencedWords fenced{std::span<const std::uint64_t>(payload)};
    const std::size_t count = groups * kernels::packed_group - 5;
    compare_decode(tested, {ElementType::f32, 0, count}, fenced.words(), 0.5, false, 3);
    compare_decode(tested, {ElementType::f64, 0, count}, fenced.words(), 0.5, true, 1);
  }
}

TEST_P(PackedEquality, HostilePayloads) {
  std::mt19937_64 engine(17);
  for (int round = 0; round < 200; ++round) {
    const std::size_t groups = 1 + engine() % 3;
    const bool based = engine() % 2 == 0;
    const auto narrow = static_cast<unsigned>(engine() % 5);
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<Words> payloads;
    for (std::size_t s = 0; s < 1 + engine() % 9; ++s)
      payloads.push_back(random_payload(groups, based, narrow, engine));
    compare_hostile(tested, groups, payloads);
    if (HasFatalFailure()) return;
    // One that ends too early, too late, lies about its length or its groups, or is of another kind.
    const std::size_t victim = engine() % payloads.size();
    for (int damage = 0; damage < 7; ++damage) {
      SCOPED_TRACE("damage " + std::to_string(damage));
      std::vector<Words> damaged = payloads;
      Words& words = damaged[victim];
      switch (damage) {
        case 0: words.pop_back(); break;
        case 1: words.push_back(0); break;
        case 2: words[0] += std::uint64_t{2} << 32; break;
        case 3: words[0] ^= 1; break;
        case 4: words[0] ^= std::uint64_t{1} << 31; break;
        case 5: words.resize(1 + engine() % words.size()); break;
        case 6: words.clear(); break;
      }
      compare_hostile(tested, groups, damaged);
      if (HasFatalFailure()) return;
    }
  }
}

/// Sums that wrap, and sums of more than 30 bits, which are refused.
TEST_P(PackedEquality, SumsOutOfRange) {
  const std::vector<double> values(1024, -0x1p29);
  const Words payload = payload_of(values, 0x1p29);
  for (std::size_t sources = 1; sources <= 17; ++sources) {
    SCOPED_TRACE(std::to_string(sources) + " sources");
    compare_merge(tested, 1, std::vector<Words>(sources, payload));
  }
}

std::vector<Isa> vector_isas() {
  const auto all = kernels::supported_isas();
  return {all.begin() + 1, all.end()};
}

INSTANTIATE_TEST_SUITE_P(Isas, PackedEquality, testing::ValuesIn(vector_isas()),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PackedEquality);  // a build without vector kernels

}  // namespace
}  // namespace cohom::test
