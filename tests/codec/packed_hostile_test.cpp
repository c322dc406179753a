// packed: payloads from hostile hands give the reference's verdict on every instruction set, and
// nothing outside of the buffers is read or written.

#include "packed_comparison.hpp"
#include "thoroughness.hpp"

namespace cohom::test {
namespace {

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
  for (int round = 0; round < (sanitized ? 60 : 200); ++round) {
    const std::size_t groups = 1 + engine() % 3;
    const bool based = engine() % 2 == 0;
    const auto narrow = static_cast<unsigned>(engine() % 5);
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<Words> payloads;
    for (std::size_t s = 0; s < 1 + engine() % 9; ++s)
      payloads.push_back(random_payload(groups, based, narrow, engine));
    compare_hostile(tested, groups, payloads);
    if (HasFatalFailure()) return;
    // One that ends too early, too late, lies about its length or its groups, or is of another
    // kind.
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

INSTANTIATE_TEST_SUITE_P(Tables, PackedEquality, testing::ValuesIn(tables_beside_reference()),
                         table_name);

}  // namespace
}  // namespace cohom::test
