// The kernels of exact: the same headers, words and elements on every instruction set, and nothing
// outside of the buffers; and headers, lengths and fields as docs/wire-format.md specifies them.
// codec.exact_rounding says whether the elements are right.

#include "exact_data.hpp"
#include "exact_run.hpp"
#include "kernels/table/kernel_table.hpp"
#include "same_bytes.hpp"
#include "tested_tables.hpp"
#include "thoroughness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using kernels::exact_capacity;
using kernels::exact_header_words;
using kernels::exact_length;
using kernels::ExactLength;

/// Whole groups, of which the last is read apart, and a ragged one; and what ends around
/// mini-blocks, codes of 8 and 16 mini-blocks, and groups.
constexpr std::size_t long_count = 2085;
constexpr std::size_t other_counts[] = {1, 7, 15, 16, 17, 127, 129, 1023, 1024, 1025, 2048};

/// Which problems are looked at: a share, or every 31st where the device may be interpreted, which
/// takes hundreds of times longer.
CaseShare share_of(const TestedTable& tested) {
  return tested.name == "cuda" ? CaseShare(31, 31) : CaseShare(3, 7);
}

/// Calls check(problem, data's name, its vectors) for every set, type and number of ranks, with the
/// long count and, in turn, one of the others.
template <class Check>
void for_each_problem(Check check, CaseShare share = CaseShare(3, 7)) {
  std::uint64_t seed = 0;
  for (const ElementType type : all_element_types)
    for (const int ranks : all_ranks)
      for (const ExactData& data : exact_data())
        for (const bool mean : {false, true})
          for (const std::size_t count :
               {long_count, other_counts[++seed % std::size(other_counts)]}) {
            if (share.skips_this()) continue;
            const ExactProblem problem{type, ranks, count, mean, seed};
            SCOPED_TRACE(std::string(data.name) + " " + problem.name());
            check(problem, data.make(problem));
            if (testing::Test::HasFatalFailure()) return;
          }
}

// ---- instruction sets

/// Those that have the kernels.
std::vector<TestedTable> exact_tables() {
  auto all = tables_beside_reference();
  std::erase_if(all, [](const TestedTable& tested) { return !complete(tested.table->exact); });
  return all;
}

class ExactEquality : public testing::TestWithParam<TestedTable> {
 protected:
  const ExactKernels& tested = GetParam().table->exact;
};

TEST_P(ExactEquality, HeadersWordsAndElements) {
  for_each_problem(
      [&](const ExactProblem& problem, const std::vector<Bytes>& inputs) {
        ExactSums expected(exact_reference(), problem, inputs), found(tested, problem, inputs);
        for (std::size_t rank = 0; rank < inputs.size(); ++rank)
          ASSERT_EQ(found.headers()[rank], expected.headers()[rank]) << "header of rank " << rank;
        const auto narrow = expected.all_encoded(expected.narrow());
        const auto wide = expected.all_encoded(expected.wide());
        for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
          ASSERT_EQ(found.encoded(rank, found.narrow()), narrow[rank]) << "narrow, rank " << rank;
          ASSERT_EQ(found.encoded(rank, found.wide()), wide[rank]) << "wide, rank " << rank;
        }
        ASSERT_TRUE(same_bytes(found.summed(narrow), expected.summed(narrow))) << "sum";
        const Words sum = expected.added(wide);
        ASSERT_TRUE(same_bytes(found.decoded(sum), expected.decoded(sum))) << "decode";
      },
      share_of(GetParam()));
}

/// More ranks than threads could be: all but one have the same elements.
TEST_P(ExactEquality, ManyContributions) {
  CaseShare share = share_of(GetParam());
  for (const ElementType type : all_element_types)
    for (const int ranks : {64, 1000, 4095, 65536})
      for (const ExactData& data : exact_data())
        for (const bool mean : {false, true}) {
          if (share.skips_this()) continue;
          ExactProblem two{type, 2, long_count, mean, std::uint64_t(ranks)};
          const auto inputs = data.make(two);
          ExactProblem problem = two;
          problem.ranks = ranks;
          SCOPED_TRACE(std::string(data.name) + " " + problem.name());
          ExactSums expected(exact_reference(), problem, inputs), found(tested, problem, inputs);
          const auto wide = expected.all_encoded(expected.wide());
          for (std::size_t rank = 0; rank < 2; ++rank)
            ASSERT_EQ(found.encoded(rank, found.wide()), wide[rank]);
          const Words sum = expected.added(wide);
          ASSERT_TRUE(same_bytes(found.decoded(sum), expected.decoded(sum)));
          if (ranks > 64) continue;
          std::vector<Words> narrow(std::size_t(ranks), expected.encoded(0, expected.narrow()));
          narrow.back() = expected.encoded(1, expected.narrow());
          ASSERT_TRUE(same_bytes(found.summed(narrow), expected.summed(narrow)));
        }
}

INSTANTIATE_TEST_SUITE_P(Tables, ExactEquality, testing::ValuesIn(exact_tables()), table_name);

// ---- the format

/// A finite number that is not 0: +-whole * 2^exponent, whole odd.
struct OddWhole {
  std::uint64_t whole = 0;
  int exponent = 0;

  explicit OddWhole(double value) {
    whole = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::abs(value), &exponent), 53));
    exponent -= 53;
    exponent += std::countr_zero(whole);
    whole >>= std::countr_zero(whole);
  }
};

/// P, M and u of the specification, and the room of words: n, K.
struct Specification {
  int positions, mantissa, unit, max_field;
  bool long_codes;
  unsigned ranks = 1, contributions = 1;

  static Specification of(ElementType type) {
    switch (type) {
      case ElementType::f64: return {2098, 52, -1074, 96, true};
      case ElementType::f32: return {277, 23, -149, 80, false};
      case ElementType::f16: return {40, 10, -24, 64, false};
      default: return {261, 7, -133, 64, false};
    }
  }
  [[nodiscard]] unsigned code_bits() const { return long_codes ? 16 : 8; }
  [[nodiscard]] std::size_t codes_a_word() const { return 64 / code_bits(); }
  [[nodiscard]] std::size_t minis_a_zero_code() const { return long_codes ? 16 : 8; }
  [[nodiscard]] unsigned all_ones() const { return (1u << code_bits()) - 1; }
  [[nodiscard]] std::size_t code_words(std::size_t minis) const {
    return (minis + codes_a_word() - 1) / codes_a_word();
  }
  [[nodiscard]] unsigned get(const std::uint64_t* words, std::size_t index) const {
    return words[index / codes_a_word()] >> index % codes_a_word() * code_bits() & all_ones();
  }
  void put(std::uint64_t* words, std::size_t index, std::uint64_t code) const {
    words[index / codes_a_word()] |= code << index % codes_a_word() * code_bits();
  }
  [[nodiscard]] int bottom(unsigned low) const {
    return positions - (long_codes ? 0 : mantissa - 1) - static_cast<int>(low);
  }
  [[nodiscard]] int top(unsigned high) const {
    return static_cast<int>(high) + (long_codes ? 0 : mantissa);
  }
};

/// Calls visit(first element, elements) for each mini-block of a group.
template <class Visit>
void for_each_mini(std::size_t elements, Visit visit) {
  for (std::size_t first = 0; first < elements; first += 16)
    visit(first, std::min<std::size_t>(16, elements - first));
}

/// Codes H, L and whether there is a -0.
void specified_codes(const Specification& spec, std::span<const double> values, unsigned& high,
                     unsigned& low, bool& minus_zero) {
  int top = -1, bottom = spec.positions;
  bool finite = true;
  for (const double value : values) {
    finite &= std::isfinite(value);
    minus_zero |= value == 0 && std::signbit(value);
    if (value == 0 || !std::isfinite(value)) continue;
    top = std::max(top, std::ilogb(value) - spec.unit);
    bottom = std::min(bottom, OddWhole(value).exponent - spec.unit);
  }
  const int less = spec.long_codes ? 0 : spec.mantissa;
  high = top < 0 ? 0 : static_cast<unsigned>(std::max(top + 1 - less, 1));
  low = top < 0
            ? 0
            : static_cast<unsigned>(std::max(spec.positions - bottom - std::max(less - 1, 0), 1));
  if (!finite) high = spec.all_ones();
}

Words specified_header(const ExactProblem& problem, const Bytes& input) {
  const Specification spec = Specification::of(problem.type);
  const auto values = to_values(problem.type, input);
  Words header;
  for (std::size_t first = 0; first < values.size(); first += 1024) {
    const std::size_t count = std::min<std::size_t>(1024, values.size() - first);
    const std::size_t codes = spec.code_words((count + 15) / 16);
    Words words(2 * codes + 1);
    const std::size_t of_zero_code = 16 * spec.minis_a_zero_code();
    std::vector<bool> lacks((count + of_zero_code - 1) / of_zero_code, true);
    for_each_mini(count, [&](std::size_t at, std::size_t elements) {
      unsigned high = 0, low = 0;
      bool minus_zero = false;
      specified_codes(spec, std::span(values).subspan(first + at, elements), high, low, minus_zero);
      spec.put(words.data(), at / 16, high);
      spec.put(words.data() + codes, at / 16, low);
      if (minus_zero) lacks[at / 16 / spec.minis_a_zero_code()] = false;
    });
    for (std::size_t j = 0; j < lacks.size(); ++j)
      if (lacks[j]) spec.put(words.data() + 2 * codes, j, 1);
    header.insert(header.end(), words.begin(), words.end());
  }
  return header;
}

TEST(ExactFormat, HeadersAreAsSpecified) {
  for_each_problem([](const ExactProblem& problem, const std::vector<Bytes>& inputs) {
    const ExactSums sums(exact_reference(), problem, inputs);
    for (std::size_t rank = 0; rank < inputs.size(); ++rank)
      ASSERT_EQ(sums.headers()[rank], specified_header(problem, inputs[rank])) << "rank " << rank;
  });
}

/// Bits of one stream, the first one first.
using Stream = std::vector<bool>;

void append(Stream& stream, unsigned __int128 value, unsigned bits) {
  for (unsigned bit = 0; bit < bits; ++bit) stream.push_back((value >> bit & 1) != 0);
}

/// The fields of one mini-block, as the agreed codes say.
void append_fields(const Specification& spec, std::span<const double> values, unsigned high,
                   unsigned low, bool counts_zeros, std::span<Stream> streams) {
  const auto magnitude = static_cast<unsigned>(high == 0 ? 0 : spec.top(high) - spec.bottom(low));
  const auto width = [&](unsigned contributions) {
    const auto carries = static_cast<unsigned>(std::ceil(std::log2(contributions)));
    return high == 0 ? 0 : magnitude + 1 + carries;
  };
  const auto counter = [&](unsigned contributions) {
    return counts_zeros ? static_cast<unsigned>(std::floor(std::log2(contributions))) + 1 : 0;
  };
  if (high == spec.all_ones()) return;
  if (width(spec.ranks) + counter(spec.ranks) > static_cast<unsigned>(spec.max_field)) return;
  for (std::size_t i = 0; i < 16; ++i) {
    const double value = i < values.size() ? values[i] : 0;
    __int128 x = 0;
    if (value != 0) {
      const OddWhole odd(value);
      x = static_cast<__int128>(odd.whole) << (odd.exponent - spec.unit - spec.bottom(low));
    }
    const __int128 bias = static_cast<__int128>(1) << magnitude;
    if (high != 0)
      append(streams[i % 8], static_cast<unsigned __int128>(bias + (value < 0 ? -x : x)),
             width(spec.contributions));
    append(streams[i % 8], value == 0 && std::signbit(value) ? 1 : 0, counter(spec.contributions));
  }
}

Words specified_payload(const ExactProblem& problem, unsigned contributions, const Bytes& input,
                        const Words& agreed) {
  Specification spec = Specification::of(problem.type);
  spec.ranks = static_cast<unsigned>(problem.ranks);
  spec.contributions = contributions;
  const auto digit = 64 - static_cast<unsigned>(std::ceil(std::log2(contributions)));
  const auto values = to_values(problem.type, input);
  Words payload;
  const std::uint64_t* header = agreed.data();
  for (std::size_t first = 0; first < values.size(); first += 1024) {
    const std::size_t count = std::min<std::size_t>(1024, values.size() - first);
    const std::size_t codes = spec.code_words((count + 15) / 16);
    std::vector<Stream> streams(8);
    for_each_mini(count, [&](std::size_t at, std::size_t elements) {
      const bool counts = spec.get(header + 2 * codes, at / 16 / spec.minis_a_zero_code()) == 0;
      append_fields(spec, std::span(values).subspan(first + at, elements),
                    spec.get(header, at / 16), spec.get(header + codes, at / 16), counts, streams);
    });
    Words words((streams[0].size() + digit - 1) / digit * 8);
    for (std::size_t s = 0; s < 8; ++s)
      for (std::size_t bit = 0; bit < streams[s].size(); ++bit)
        if (streams[s][bit]) words[bit / digit * 8 + s] |= std::uint64_t{1} << bit % digit;
    payload.insert(payload.end(), words.begin(), words.end());
    header += 2 * codes + 1;
  }
  return payload;
}

TEST(ExactFormat, PayloadsAreAsSpecified) {
  for_each_problem([](const ExactProblem& problem, const std::vector<Bytes>& inputs) {
    if (problem.mean) return;  // makes no difference
    ExactSums sums(exact_reference(), problem, inputs);
    const std::size_t rank = problem.seed % inputs.size();
    for (const ExactRoom& room : {sums.narrow(), sums.wide()})
      ASSERT_EQ(sums.encoded(rank, room),
                specified_payload(problem, static_cast<unsigned>(room.contributions), inputs[rank],
                                  sums.agreed()))
          << "rank " << rank << ", room for " << room.contributions;
  });
}

/// Every word that exact_length() says, and no other; and no more than buffers are taken for.
TEST(ExactFormat, LengthsAreWhatEncodeWrites) {
  for_each_problem([](const ExactProblem& problem, const std::vector<Bytes>& inputs) {
    const ExactSums sums(exact_reference(), problem, inputs);
    for (const ExactRoom& room : {sums.narrow(), sums.wide()}) {
      const ExactLength length = exact_length(sums.run(), room, sums.agreed().data());
      const std::size_t capacity = exact_capacity(room, problem.type, problem.count);
      ASSERT_TRUE(length.valid);
      ASSERT_LE(length.words, capacity);
      Words zeros(capacity + 8), ones(capacity + 8, ~std::uint64_t{0});
      for (Words* words : {&zeros, &ones})
        exact_reference().encode(sums.run(), room, sums.agreed().data(), inputs[0].data(),
                                 words->data());
      for (std::size_t i = 0; i < zeros.size(); ++i)
        ASSERT_EQ(zeros[i] == ones[i], i < length.words) << "word " << i << " of " << length.words;
    }
  });
}

/// Fields as wide as the payload takes, or a bit less, or a bit more.
Words widest_header(ElementType type, std::size_t count, std::size_t ranks,
                    std::mt19937_64& random) {
  const Specification spec = Specification::of(type);
  Words header(exact_header_words(type, count));
  std::uint64_t* group = header.data();
  for (std::size_t first = 0; first < count; first += 1024) {
    const std::size_t minis = (std::min<std::size_t>(1024, count - first) + 15) / 16;
    const std::size_t codes = spec.code_words(minis);
    const bool counts = random() % 2 == 0;
    const int widest = spec.max_field - 1 - static_cast<int>(std::bit_width(ranks - 1)) -
                       (counts ? static_cast<int>(std::bit_width(ranks)) : 0);
    for (std::size_t m = 0; m < minis; ++m) {
      const unsigned high = spec.long_codes ? 1200 : type == ElementType::f16 ? 30 : 100;
      const int magnitude =
          random() % 8 == 0 ? widest + 1 - static_cast<int>(random() % 3) : widest;
      const int low = spec.bottom(0) - spec.top(high) + magnitude;
      spec.put(group, m, high);
      spec.put(group + codes, m, static_cast<unsigned>(std::clamp(low, 1, spec.bottom(0))));
    }
    if (!counts) group[2 * codes] = ~std::uint64_t{0};
    group += 2 * codes + 1;
  }
  return header;
}

TEST(ExactFormat, CapacitiesHoldAnyHeader) {
  std::mt19937_64 random(1);
  for (const ElementType type : all_element_types)
    for (const std::size_t ranks : {1, 2, 3, 17, 1000, 65535, 65536})
      for (const std::size_t count : {1, 16, 100, 1024, 2085}) {
        const Words header = widest_header(type, count, ranks, random);
        for (const std::size_t contributions : {std::size_t{1}, ranks}) {
          const ExactRoom room{ranks, contributions};
          const ExactLength length = exact_length({type, count}, room, header.data());
          ASSERT_TRUE(length.valid);
          ASSERT_LE(length.words, exact_capacity(room, type, count))
              << name_of(type) << ", " << count << " elements, " << ranks << " ranks, room for "
              << contributions;
        }
      }
}

/// Else a mini-block would be in the payload and in the round `wide`, or in neither.
TEST(ExactFormat, RoomDoesNotDecideWhatIsWide) {
  std::mt19937_64 random(2);
  std::size_t all = 0;
  for (const ElementType type : all_element_types)
    for (const std::size_t ranks : {2, 3, 17, 1000, 65536}) {
      const ExactRun run{type, 8192};
      const Words header = widest_header(type, run.count, ranks, random);
      const std::size_t wide = exact_length(run, {ranks, ranks}, header.data()).wide_minis;
      all += wide;
      EXPECT_EQ(exact_length(run, {ranks, 1}, header.data()).wide_minis, wide)
          << name_of(type) << ", " << ranks << " ranks";
    }
  EXPECT_GT(all, 100u);
}

// ---- headers from hostile hands

bool is_valid(const Specification& spec, unsigned high, unsigned low) {
  if (high == 0 || low == 0) return high == low;
  return spec.top(high) <= spec.positions && spec.bottom(low) >= 0 &&
         spec.bottom(low) < spec.top(high);
}

TEST(ExactFormat, HeadersThatNobodySendsAreNotValid) {
  for (const ElementType type : all_element_types) {
    const Specification spec = Specification::of(type);
    std::vector<unsigned> codes;
    for (unsigned code = 0; code < (spec.long_codes ? 1u : spec.all_ones()); ++code)
      codes.push_back(code);
    if (spec.long_codes)
      codes = {0, 1, 2, 52, 53, 54, 1000, 2045, 2046, 2047, 2097, 2098, 2099, 4096, 32768, 65534};
    std::size_t valid = 0;
    for (const unsigned high : codes)
      for (const unsigned low : codes) {
        // The second mini-block of three.
        Words header(exact_header_words(type, 48));
        spec.put(header.data(), 1, high);
        spec.put(header.data() + 1, 1, low);
        const ExactLength length = exact_length({type, 48}, {3, 3}, header.data());
        ASSERT_EQ(length.valid, is_valid(spec, high, low))
            << name_of(type) << ' ' << high << ' ' << low;
        valid += length.valid ? 1 : 0;
      }
    EXPECT_GT(valid, 20u);
  }
}

/// A rank whose elements are not those that the header speaks of, and words that nobody sent: any
/// elements come out, and nothing outside of the buffers is touched.
class ExactHostile : public testing::TestWithParam<TestedTable> {};

TEST_P(ExactHostile, ForeignHeadersAndWords) {
  const ExactKernels& tested = GetParam().table->exact;
  std::mt19937_64 random(5);
  CaseShare share = share_of(GetParam());
  for (const ElementType type : all_element_types)
    for (const int ranks : {1, 3, 17})
      for (const ExactData& data : exact_data()) {
        if (share.skips_this()) continue;
        const ExactProblem problem{type, ranks, long_count, true, 77};
        ExactSums sums(tested, problem, random_exact_vectors(problem));
        sums.agree_on(ExactSums(exact_reference(), problem, data.make(problem)).agreed());
        const auto narrow = sums.all_encoded(sums.narrow());
        sums.summed(narrow);
        Words words = sums.encoded(0, sums.wide());
        for (std::uint64_t& word : words) word = random();
        sums.decoded(words);
      }
}

INSTANTIATE_TEST_SUITE_P(Tables, ExactHostile, testing::ValuesIn(exact_tables()), table_name);
INSTANTIATE_TEST_SUITE_P(Reference, ExactHostile,
                         testing::Values(TestedTable{"scalar",
                                                     &kernels::kernel_table(kernels::Isa::scalar)}),
                         table_name);

}  // namespace
}  // namespace cohom::test
