// The words of a part (LoneVector): golden hashes, and words from hostile hands.
// Golden hashes pin the wire format: a difference takes a new wire_format_version, not new numbers.

#include "codecs/parts/lone_vector.hpp"

#include "codec_specs.hpp"
#include "elements.hpp"
#include "golden.hpp"
#include "guarded_buffer.hpp"
#include "plan/plan_codec.hpp"
#include "thoroughness.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::test {
namespace {

using Words = std::vector<std::uint64_t>;

LoneVector vector_of(std::string_view spec, std::size_t elements, ElementType type) {
  const PlanCodec codec(spec,
                        {.type = type, .kernels = kernels::kernel_table(), .elements = elements});
  LoneVector vector(codec.make(), elements, type);
  vector.reserve(true);
  return vector;
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
    {"raw", ElementType::f32, 1001, 0x8457a6bfdc0b670u, 0xd15dac599ff1bdefu},
    {"thc", ElementType::f32, 3001, 0x2c05c8ff04e0aa47u, 0x165a3f0d9010bc68u},
    {"packed", ElementType::f16, 3001, 0x6cea7b1c5fce781cu, 0xdc1d3b25b962a90u},
    {"signcount", ElementType::bf16, 3001, 0xf2bd564814453481u, 0x684ef6ef47c3d3c4u},
    {"sparse", ElementType::f64, 3001, 0xce54ad6e99a4225au, 0xf90c130ecba9b10fu},
    {"sparse+thc", ElementType::f32, 40001, 0xda53775df69ae3a0u, 0x5109d3eb4133f798u},
    {"sketch", ElementType::f32, 3001, 0x39cdb75b72a40f4bu, 0xa3c735b5d1ed6970u},
    {"exact", ElementType::f32, 3001, 0x1cccafd2db0f95aeu, 0xa3c735b5d1ed6970u},
    {"topk:0.1", ElementType::f32, 3001, 0x498a23a13db0a6dbu, 0x2556dbf90a7c2e90u},
    {"lowrank", ElementType::f32, 9900, 0x15bd76d3374b8d5du, 0x8b717069175e0943u},
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

constexpr std::size_t hostile_elements = 3001;

/// One codec's vector, and where it is decoded to.
class Victim {
 public:
  explicit Victim(std::string_view spec)
      : words(words_of(spec, golden_part(hostile_elements, ElementType::f32), hostile_elements,
                       ElementType::f32)),
        vector_(vector_of(spec, hostile_elements, ElementType::f32)),
        output_(hostile_elements * 4, 4) {}

  /// Words in a buffer of just their length.
  bool decodes(const Words& wrong) {
    const std::unique_ptr<std::uint64_t[]> exact(new std::uint64_t[wrong.size()]);
    std::ranges::copy(wrong, exact.get());
    try {
      vector_.decode({exact.get(), wrong.size()}, 5, output_.data());
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::transport) << error.what();
      return false;
    }
  }
  ~Victim() {
    EXPECT_TRUE(decodes(words)) << "the right words, behind wrong ones";
    EXPECT_TRUE(output_.fences_intact()) << "written outside the output";
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  const Words words;

 private:
  LoneVector vector_;
  GuardedBuffer output_;
};

template <class Try>
void for_each_codec(Try&& attempt) {
  for (const CodecSpec& codec : specs_for(1)) {
    SCOPED_TRACE(codec.spec);
    Victim victim(codec.spec);
    attempt(victim);
  }
}

TEST(HostileParts, OfAnotherLengthAreRefused) {
  for_each_codec([](Victim& victim) {
    const Words& words = victim.words;
    for (std::size_t length = 0; length < words.size(); length += 1 + words.size() / 50)
      EXPECT_FALSE(victim.decodes({words.begin(), words.begin() + std::ptrdiff_t(length)}))
          << length << " words";
    Words longer = words;
    longer.push_back(0);
    EXPECT_FALSE(victim.decodes(longer));
  });
}

TEST(HostileParts, OfAnyBitsWriteNothingOutside) {
  std::mt19937_64 engine(1);
  for_each_codec([&](Victim& victim) {
    for (int attempt = 0; attempt < (is_slow() ? 50 : 200); ++attempt) {
      Words wrong = victim.words;
      for (int flips = 1 + attempt % 4; flips > 0; --flips)
        wrong[engine() % wrong.size()] ^= std::uint64_t{1} << engine() % 64;
      if (attempt % 5 == 0) wrong[engine() % wrong.size()] = engine();
      victim.decodes(wrong);
    }
    for (const std::uint64_t form : {std::uint64_t{2}, ~std::uint64_t{0}}) {
      Words wrong = victim.words;
      wrong[0] = form;
      EXPECT_FALSE(victim.decodes(wrong));
    }
  });
}

/// Where each round's words begin: behind the word that says how many there are.
std::vector<std::size_t> rounds_in(const Words& words) {
  std::vector<std::size_t> begins;
  for (std::size_t begin = 2; begin <= words.size(); begin += words[begin - 1] + 1)
    begins.push_back(begin);
  return begins;
}

// The frames fit each other, and what is in them does not.
TEST(HostileParts, WhoseRoundsHaveOtherLengthsWriteNothingOutside) {
  for_each_codec([](Victim& victim) {
    if (victim.words[0] != 0) return;  // elements
    for (const std::size_t begin : rounds_in(victim.words)) {
      const std::uint64_t length = victim.words[begin - 1];
      for (const std::uint64_t other :
           {std::uint64_t{0}, length / 2, length - 1, length + 1, 2 * length}) {
        if (other == length || (length == 0 && other > 1)) continue;
        Words wrong = victim.words;
        wrong[begin - 1] = other;
        const auto first = wrong.begin() + std::ptrdiff_t(begin);
        if (other < length)
          wrong.erase(first + std::ptrdiff_t(other), first + std::ptrdiff_t(length));
        else
          wrong.insert(first + std::ptrdiff_t(length), other - length, 0x0123'4567'89ab'cdef);
        // Words that nobody reads may be there: those of an index that says fewer.
        const bool decodes = victim.decodes(wrong);
        EXPECT_TRUE(!decodes || other > length) << other << " words instead of " << length;
      }
    }
  });
}

TEST(HostileParts, OfElementsHaveTheRightLength) {
  Victim victim("thc");
  Words elements(1 + (hostile_elements * 4 + 7) / 8);
  elements[0] = 1;
  EXPECT_TRUE(victim.decodes(elements));
  elements.push_back(0);
  EXPECT_FALSE(victim.decodes(elements));
  elements.resize(elements.size() - 2);
  EXPECT_FALSE(victim.decodes(elements));
}

}  // namespace
}  // namespace cohom::test
