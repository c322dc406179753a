// exact, its rounds without a transport: any cut into pieces, either form, in place or not; and
// what it refuses.

#include "codecs/exact/exact.hpp"
#include "agreed_words.hpp"
#include "codec_harness.hpp"
#include "exact_data.hpp"
#include "same_bytes.hpp"
#include "superaccumulator.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using WordVector = std::vector<std::uint64_t>;

constexpr std::size_t header = 0, payload = 1, wide = 2;  // rounds

/// As for a vector too short for an agreement.
std::unique_ptr<Codec> make_short(const CodecContext& context) {
  CodecContext of_few = context;
  of_few.elements = 1;
  return exact_codec().make(of_few);
}

HarnessSetup setup_of(const ExactProblem& problem) {
  return {.make = exact_codec().make,
          .ranks = problem.ranks,
          .type = problem.type,
          .mean = problem.mean};
}

class ExactCodecs : public testing::TestWithParam<ElementType> {};

/// Pieces of one group and of three, of several owners: the last one of the vector is ragged, and
/// others have no wide mini-block, or nothing but.
TEST_P(ExactCodecs, FormsAndPiecesMakeNoDifference) {
  std::uint64_t seed = 0;
  for (const ExactData& data : exact_data())
    for (const int ranks : {1, 2, 5}) {
      const ExactProblem problem{GetParam(), ranks, 5003, ++seed % 2 == 0, seed};
      SCOPED_TRACE(std::string(data.name) + " " + problem.name());
      const auto inputs = data.make(problem);
      const Bytes expected = accumulated_sums(problem.type, inputs, problem.divisor());
      for (const Form form : {Form::narrow, Form::wide})
        for (const bool in_place : {false, true}) {
          HarnessSetup setup = setup_of(problem);
          setup.form = form;
          setup.in_place = in_place;
          setup.chunks = in_place ? 1 : 3;
          setup.segment = form == Form::wide ? 1024 : 3072;
          CodecHarness harness(setup);
          EXPECT_TRUE(same_bytes(harness.allreduce(inputs), expected));
          EXPECT_TRUE(same_bytes(harness.allreduce(inputs), expected)) << "second call";
        }
      HarnessSetup setup = setup_of(problem);
      setup.make = make_short;
      EXPECT_TRUE(same_bytes(CodecHarness(setup).allreduce(inputs), expected)) << "one round";
    }
}

TEST_P(ExactCodecs, ZerosCostTheHeaderAlone) {
  const ExactProblem problem{GetParam(), 3, 5003};
  CodecHarness harness(setup_of(problem));
  const std::vector<Bytes> zeros(3, Bytes(problem.count * size_of(problem.type)));
  EXPECT_TRUE(same_bytes(harness.allreduce(zeros), zeros[0]));
  EXPECT_FALSE(harness.sum(header).empty());
  EXPECT_TRUE(harness.contribution(payload, 1).empty());
  EXPECT_TRUE(harness.sum(wide).empty());
}

/// An agreement would take them longer than words of all bits.
TEST_P(ExactCodecs, ShortVectorsTakeOneRound) {
  const auto rounds = [](std::size_t elements) {
    const auto codec = exact_codec().make(
        {.ranks = 3, .type = GetParam(), .kernels = kernels::kernel_table(), .elements = elements});
    return codec->rounds().size();
  };
  const std::size_t most = 1024 / size_of(GetParam());
  EXPECT_EQ(rounds(1), 1u);
  EXPECT_EQ(rounds(most), 1u);
  EXPECT_EQ(rounds(most + 1), 3u);
}

INSTANTIATE_TEST_SUITE_P(Types, ExactCodecs, testing::ValuesIn(all_element_types),
                         [](const auto& type) { return std::string(name_of(type.param)); });

// ---- what it refuses

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(name_of(error.kind())) + ": " + error.what();
  }
  return "accepted";
}

TEST(ExactRefuses, ParametersAndTooManyRanks) {
  const auto made = [](int ranks, const Parameters& parameters) {
    return error_of([&] {
      exact_codec().make(
          {.ranks = ranks, .kernels = kernels::kernel_table(), .parameters = parameters});
    });
  };
  EXPECT_EQ(made(65536, {}), "accepted");
  EXPECT_NE(made(65537, {}).find("65537 ranks are too many; at most 65536"), std::string::npos)
      << made(65537, {});
  EXPECT_NE(made(3, {{"bits", "4"}}).find("bits"), std::string::npos) << made(3, {{"bits", "4"}});
}

/// The owner of 600 elements on three ranks.
struct Owner {
  static constexpr std::size_t count = 600;
  static constexpr std::size_t elements_words = count / 2;

  Piece piece{.first = 0, .count = count, .index = 0};
  std::vector<float> input = std::vector<float>(count, 1.5f), output = std::vector<float>(count);
  std::unique_ptr<Codec> codec = exact_codec().make(
      {.ranks = 3, .type = ElementType::f32, .kernels = kernels::kernel_table()});
  KeptRounds agreed;

  explicit Owner(bool with_infinity = false) {
    if (with_infinity) input[20] = HUGE_VALF;
    codec->reserve(count, count);
    codec->begin({.type = ElementType::f32,
                  .input = input.data(),
                  .output = output.data(),
                  .pieces = {&piece, 1}});
    agreed.start(codec->rounds());
  }
  Round& round(std::size_t number) { return *codec->rounds()[number]; }
  WordVector encoded(std::size_t number, std::size_t contributions) {
    WordVector words(round(number).capacity(contributions, count));
    words.resize(round(number).encode(contributions, piece, words));
    return words;
  }
  /// Agrees on what this rank says itself.
  void agree() { agreed.add(header, encoded(header, 3)); }
};

TEST(ExactRefuses, ContributionsOfAnotherLength) {
  Owner owner;
  owner.agree();
  const WordVector right = owner.encoded(payload, alone);
  WordVector longer = right, shorter = right;
  longer.push_back(0);
  shorter.pop_back();
  const auto promoted = [&](const WordVector& last) {
    WordVector sum(owner.round(payload).capacity(3, Owner::count) + Owner::elements_words);
    return error_of([&] {
      const std::vector<ConstPayload> contributions{right, right, last};
      EXPECT_EQ(owner.round(payload).promote(owner.piece, contributions, contributions.size(), sum),
                Owner::elements_words);
      EXPECT_EQ(sum[0], 0x4090000040900000u) << "4.5 twice";
    });
  };
  EXPECT_EQ(promoted(right), "accepted");
  for (const WordVector& wrong : {longer, shorter, WordVector()})
    EXPECT_NE(
        promoted(wrong).find("a payload of " + std::to_string(wrong.size()) +
                             " words came where the header says " + std::to_string(right.size())),
        std::string::npos)
        << promoted(wrong);
}

/// The last word of an odd number of elements travels, too, and is the same everywhere.
TEST(ExactPadding, OfRoundedSumsIsZero) {
  Owner owner;
  owner.piece.count = Owner::count - 1;
  owner.agree();
  const WordVector contribution = owner.encoded(payload, alone);
  const std::vector<ConstPayload> contributions(3, contribution);
  const std::size_t room = owner.round(payload).capacity(3, Owner::count) + Owner::elements_words;
  WordVector promoted(room, ~std::uint64_t{0});
  EXPECT_EQ(
      owner.round(payload).promote(owner.piece, contributions, contributions.size(), promoted),
      Owner::elements_words);
  EXPECT_EQ(promoted[Owner::elements_words - 1], 0x40900000u) << "4.5, and nothing";
  WordVector finished = owner.encoded(payload, 3);
  const std::size_t words = finished.size();
  finished.resize(room, ~std::uint64_t{0});
  EXPECT_EQ(owner.round(payload).finish(owner.piece, finished, words), Owner::elements_words);
  EXPECT_EQ(finished[Owner::elements_words - 1] >> 32, 0u);
}

TEST(ExactRefuses, SumsOfAnotherLength) {
  Owner owner;
  owner.agree();
  const WordVector contribution = owner.encoded(payload, 3);
  const auto finished = [&](std::size_t words) {
    WordVector sum = contribution;
    sum.resize(owner.round(payload).capacity(3, Owner::count) + Owner::elements_words);
    return error_of([&] { owner.round(payload).finish(owner.piece, sum, words); });
  };
  EXPECT_EQ(finished(contribution.size()), "accepted");
  for (const std::size_t wrong : {std::size_t{0}, contribution.size() - 1, contribution.size() + 1})
    EXPECT_NE(finished(wrong).find("a payload of " + std::to_string(wrong) + " words came"),
              std::string::npos)
        << finished(wrong);
  const auto decoded = [&](std::size_t words) {
    const WordVector elements(words);
    return error_of([&] { owner.round(payload).decode(owner.piece, elements, 3); });
  };
  EXPECT_EQ(decoded(Owner::elements_words), "accepted");
  for (const std::size_t wrong :
       {std::size_t{0}, Owner::elements_words - 1, Owner::elements_words + 1})
    EXPECT_NE(decoded(wrong).find("a sum of " + std::to_string(wrong) +
                                  " words came where 600 elements were due"),
              std::string::npos)
        << decoded(wrong);
}

TEST(ExactRefuses, WideSumsOfAnotherLength) {
  Owner owner(true);
  owner.agree();
  EXPECT_EQ(owner.round(wide).fallback_elements(), 16u);
  const Piece own{.first = 0, .count = 16, .index = 0};
  WordVector words(owner.round(wide).capacity(3, 16));
  words.resize(owner.round(wide).encode(3, own, words));
  const auto decoded = [&](std::size_t size) {
    WordVector sum = words;
    sum.resize(size);
    return error_of([&] { owner.round(wide).decode(own, sum, 3); });
  };
  EXPECT_EQ(decoded(words.size()), "accepted");
  EXPECT_EQ(owner.output[20], HUGE_VALF);
  for (const std::size_t wrong : {std::size_t{0}, words.size() - 1, words.size() + 1})
    EXPECT_NE(decoded(wrong).find("a payload of " + std::to_string(wrong) + " words came where " +
                                  std::to_string(words.size()) + " were agreed on"),
              std::string::npos)
        << decoded(wrong);
}

/// Pieces come segment by segment.
TEST(ExactWide, IsInTheVectorsOrderWhateverThatOfPieces) {
  constexpr std::size_t half = kernels::exact_group, count = 2 * half;
  std::vector<float> input(count, 1.5f), output(count);
  input[20] = HUGE_VALF;
  input[count - 20] = -HUGE_VALF;
  const auto encoded = [&](const std::vector<Piece>& pieces) {
    const auto codec = exact_codec().make(
        {.ranks = 3, .type = ElementType::f32, .kernels = kernels::kernel_table()});
    codec->reserve(count, count);
    codec->begin({.type = ElementType::f32,
                  .input = input.data(),
                  .output = output.data(),
                  .pieces = pieces});
    KeptRounds agreed;
    agreed.start(codec->rounds());
    const auto words_of = [&](std::size_t number, const Piece& piece) {
      Round& round = *codec->rounds()[number];
      WordVector words(round.capacity(3, piece.count));
      words.resize(round.encode(3, piece, words));
      return words;
    };
    for (const Piece& piece : pieces) agreed.add(header, words_of(header, piece));
    const std::size_t elements = codec->rounds()[wide]->fallback_elements();
    EXPECT_EQ(elements, 32u);
    return words_of(wide, {.first = 0, .count = elements, .index = 0});
  };
  EXPECT_EQ(encoded({{.first = half, .count = half, .index = 0},
                     {.first = 0, .count = half, .index = 1}}),
            encoded({{.first = 0, .count = count, .index = 0}}));
}

/// A code of the highest bit without one of the lowest, and the other way round; bits that f32 has
/// not. (codec.exact_kernels has all pairs of codes.)
TEST(ExactRefuses, HeadersThatNobodySends) {
  for (const WordVector& wrong : {WordVector{100, 0}, WordVector{0, 100}, WordVector{1, 1}}) {
    Owner owner;
    WordVector words = owner.encoded(header, 3);
    const std::size_t codes = words.size() / 2;
    words[0] = (words[0] & ~std::uint64_t{0xff}) | wrong[0];
    words[codes] = (words[codes] & ~std::uint64_t{0xff}) | wrong[1];
    owner.agreed.add(header, words);
    const std::string error = error_of([&] { owner.encoded(payload, alone); });
    EXPECT_NE(error.find("exact: round \"header\" agreed on"), std::string::npos) << error;
    EXPECT_NE(error_of([&] { owner.round(wide).fallback_elements(); }).find("agreed on"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace cohom::test
