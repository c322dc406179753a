// The words of a part (LoneVector): golden hashes, and words from hostile hands.
// Golden hashes pin the wire format: a difference takes a new wire_format_version, not new numbers.

#include "codecs/parts/lone_vector.hpp"

#include "codec_specs.hpp"
#include "elements.hpp"
#include "golden.hpp"
#include "plan/plan_codec.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::test {
namespace {

using Words = std::vector<std::uint64_t>;

LoneVector vector_of(std::string_view spec, std::size_t elements, ElementType type) {
  const PlanCodec codec(spec,
                        {.type = type, .kernels = kernels::kernel_table(), .elements = elements});
  return {codec.make(), elements, type};
}

/// With an infinity, so that every round has words.
Bytes golden_part(std::size_t elements, ElementType type) {
  auto values = golden_input(0, elements);
  values[100] = std::numeric_limits<double>::infinity();
  return to_bytes(type, values);
}

Words words_of(std::string_view spec, const Bytes& input, std::size_t elements, ElementType type) {
  LoneVector vector = vector_of(spec, elements, type);
  Words words(vector.capacity(elements));
  words.resize(vector.encode(input.data(), 5, words));
  return words;
}

struct Golden {
  const char* spec;
  ElementType type;
  std::size_t elements;
  std::uint64_t words, result;
};

// clang-format off
constexpr Golden goldens[] = {
    {"raw", ElementType::f32, 1001, 0x2afcdc6d989874d9u, 0xd15dac599ff1bdefu},
    {"thc", ElementType::f32, 3001, 0x4bd015cca8bc890fu, 0x165a3f0d9010bc68u},
    {"packed", ElementType::f16, 3001, 0xc7ec3a795fc1e3b9u, 0xdc1d3b25b962a90u},
    {"signcount", ElementType::bf16, 3001, 0x29ff503b70ee54e0u, 0x684ef6ef47c3d3c4u},
    {"sparse", ElementType::f64, 3001, 0x19c0034e28477cc9u, 0xf90c130ecba9b10fu},
    {"sparse+thc", ElementType::f32, 40001, 0xa4e455ba82e48a41u, 0x5109d3eb4133f798u},
    {"sketch", ElementType::f32, 3001, 0xe77b345d619b662fu, 0xa3c735b5d1ed6970u},
    {"exact", ElementType::f32, 3001, 0xc1c7f601394510abu, 0xa3c735b5d1ed6970u},
    {"topk:0.1", ElementType::f32, 3001, 0xc16d1526b3c34296u, 0x2556dbf90a7c2e90u},
    {"lowrank", ElementType::f32, 9900, 0x92ef1aee8bb669f2u, 0x8b717069175e0943u},
};
// clang-format on

TEST(GoldenParts, WordsAndElements) {
  for (const Golden& golden : goldens) {
    SCOPED_TRACE(golden.spec);
    const Words words = words_of(golden.spec, golden_part(golden.elements, golden.type),
                                 golden.elements, golden.type);
    Bytes output(golden.elements * size_of(golden.type));
    vector_of(golden.spec, golden.elements, golden.type).decode(words, 5, output.data());
    EXPECT_EQ(hash_of(words), golden.words) << std::hex << "words 0x" << hash_of(words) << "u";
    EXPECT_EQ(hash_of(output), golden.result) << std::hex << "result 0x" << hash_of(output) << "u";
  }
}

bool decodes(LoneVector& vector, std::span<const std::uint64_t> words, Bytes& output) {
  try {
    vector.decode(words, 5, output.data());
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::transport) << error.what();
    return false;
  }
}

/// Of codecs that keep no state, with words in a buffer of just their length.
template <class Try>
void for_each_part(Try&& attempt) {
  constexpr std::size_t elements = 3001;
  for (const CodecSpec& codec : specs_for(1)) {
    SCOPED_TRACE(codec.spec);
    const Bytes input = golden_part(elements, ElementType::f32);
    const Words words = words_of(codec.spec, input, elements, ElementType::f32);
    LoneVector vector = vector_of(codec.spec, elements, ElementType::f32);
    Bytes output(input.size());
    attempt(vector, words, output);
    EXPECT_TRUE(decodes(vector, words, output)) << "the right words, behind wrong ones";
  }
}

TEST(HostileParts, OfAnotherLengthAreRefused) {
  for_each_part([](LoneVector& vector, const Words& words, Bytes& output) {
    for (std::size_t length = 0; length < words.size(); length += 1 + words.size() / 50) {
      const Words shorter(words.begin(), words.begin() + std::ptrdiff_t(length));
      EXPECT_FALSE(decodes(vector, shorter, output)) << length << " words";
    }
    Words longer = words;
    longer.push_back(0);
    EXPECT_FALSE(decodes(vector, longer, output));
  });
}

TEST(HostileParts, OfAnyBitsWriteNothingOutside) {
  std::mt19937_64 engine(1);
  for_each_part([&](LoneVector& vector, const Words& words, Bytes& output) {
    for (int attempt = 0; attempt < 200; ++attempt) {
      Words wrong = words;
      for (int flips = 1 + attempt % 4; flips > 0; --flips)
        wrong[engine() % wrong.size()] ^= std::uint64_t{1} << engine() % 64;
      if (attempt % 5 == 0) wrong[engine() % wrong.size()] = engine();
      decodes(vector, wrong, output);
    }
    // How many words the first round has.
    for (const std::uint64_t length : {std::uint64_t{0}, words[0] - 1, words[0] + 1,
                                       std::uint64_t{words.size()}, ~std::uint64_t{0}}) {
      Words wrong = words;
      wrong[0] = length;
      decodes(vector, wrong, output);
    }
  });
}

}  // namespace
}  // namespace cohom::test
