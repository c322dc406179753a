// libFuzzer target: one rank of a codec, without ranks, transport or schedule. What the others sent
// is made up: this rank's own words, changed as the input says. So agreed words reach every check
// and decoder, and contributions and sums every promote(), merge(), finish() and decode(). Buffers
// are as long as what is in them, so that the address sanitizer sees a step outside.

#include "agreed_words.hpp"
#include "codec_specs.hpp"
#include "elements.hpp"
#include "executor/chunking.hpp"
#include "fuzz_input.hpp"
#include "nasty_values.hpp"
#include "plan/spec.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <span>
#include <vector>

namespace {

using namespace cohom;
using namespace cohom::test;
using fuzz::FuzzInput;
using WordVector = std::vector<std::uint64_t>;

/// Words changed as the input says. `may_shorten`: where ranks learn of a length by the message.
void change(FuzzInput& input, WordVector& words, bool may_shorten) {
  constexpr std::uint64_t known[] = {0,          ~std::uint64_t{0},  std::uint64_t{1} << 63,
                                     0x7fffffff, 0x7fc000007fc00000, 0xffffffff,
                                     0x80000000, 0xfff0000000000000, 1};
  for (std::size_t changes = input.byte() % 8; changes != 0; --changes) {
    if (words.empty()) return;
    const std::uint8_t kind = input.byte();
    std::uint64_t& word = words[input.choice(words.size())];
    switch (kind % 6) {
      case 0: word ^= std::uint64_t{1} << input.byte() % 64; break;
      case 1: word = input.number(8); break;
      case 2: word = input.one_of(known); break;
      case 3: word += input.byte() - std::uint64_t{128}; break;
      case 4: word = input.number(2); break;
      case 5:
        if (may_shorten) words.resize(1 + input.choice(words.size()));
        break;
    }
  }
  words.shrink_to_fit();
}

/// A call of one rank among `ranks` whose words the input makes up.
class OneRank {
 public:
  OneRank(FuzzInput& input, Codec& codec, int ranks, std::size_t elements)
      : input_(input),
        codec_(codec),
        ranks_(ranks),
        elements_(elements),
        chunking_(elements, codec.block(), 1 + input.choice(3), segment(codec, input)) {
    agreed_.start(codec.rounds());
  }

  [[nodiscard]] const Chunking& chunking() const { return chunking_; }

  void run() {
    const auto rounds = codec_.rounds();
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      if (!rounds[round]->traits().is_fallback()) {
        if (!codec_.skips(*rounds[round])) run_round(round, chunking_.pieces(), elements_);
        continue;
      }
      const std::size_t fallback = rounds[round]->fallback_elements();
      if (fallback == 0) continue;
      const Chunking own(fallback, codec_.block(), 1, segment(codec_, input_));
      run_round(round, own.pieces(), fallback);
    }
  }

 private:
  static std::size_t segment(const Codec& codec, FuzzInput& input) {
    return codec.block() * (1 + input.choice(4));
  }

  void run_round(std::size_t number, std::span<const Piece> pieces, std::size_t elements) {
    Round& round = *codec_.rounds()[number];
    const RoundTraits& traits = round.traits();
    const bool whole = traits.scope == RoundScope::vector;
    const bool agrees = traits.time == RoundTime::before_payload;
    const bool narrow = traits.narrow() && input_.byte() % 2 != 0;
    const std::size_t contributors = narrow ? alone : std::size_t(ranks_);
    std::vector<WordVector> sums;
    WordVector own;
    for (const Piece& piece : pieces) {
      const std::size_t capacity = round.capacity(contributors, whole ? elements : piece.count);
      if (!whole || piece.index == 0) own.assign(capacity, 0);
      const std::size_t words = round.encode(contributors, piece, own);
      own.resize(words);
      if (whole && piece.index + 1 < pieces.size()) continue;
      sums.push_back(sum_of(round, narrow, piece, own));
      if (agrees) agreed_.add(number, sums.back());
    }
    if (agrees) return;
    for (const Piece& piece : pieces) round.decode(piece, sums[piece.index], std::size_t(ranks_));
  }

  WordVector sum_of(Round& round, bool narrow, const Piece& piece, const WordVector& own) {
    const RoundTraits& traits = round.traits();
    const std::size_t capacity = round.capacity(std::size_t(ranks_), piece.count);
    WordVector sum = own;
    if (traits.merges_itself() || narrow) {
      std::vector<WordVector> others(std::size_t(ranks_), own);
      for (WordVector& other : others) change(input_, other, traits.varies());
      const std::vector<ConstPayload> words(others.begin(), others.end());
      sum.assign(capacity, 0);
      sum.resize(narrow ? round.promote(piece, words, std::size_t(ranks_), sum)
                        : round.merge(piece, words, sum));
    }
    // What is agreed on is as long as what this rank sent.
    change(input_, sum, traits.varies() && traits.time != RoundTime::before_payload);
    if (ranks_ > 1 && (narrow ? traits.finishes_promoted() : traits.finishes_sums())) {
      const std::size_t words = sum.size();
      sum.resize(std::max(capacity, words));
      sum.resize(round.finish(piece, sum, words));
    }
    sum.shrink_to_fit();
    return sum;
  }

  FuzzInput& input_;
  Codec& codec_;
  int ranks_;
  std::size_t elements_;
  Chunking chunking_;
  KeptRounds agreed_;
};

constexpr std::size_t longest = 20000;

/// Mostly few: more of them take long, and seldom another way.
std::size_t length_of(FuzzInput& input) {
  constexpr std::size_t few[] = {1, 31, 256, 257, 600, 1000, 1025, 2100};
  constexpr std::size_t many[] = {4096, 9000, longest};
  const std::uint8_t choice = input.byte();
  return choice < 240 ? few[choice % std::size(few)] : many[choice % std::size(many)];
}

// Drawn once: that took most of an input's time.

std::span<const double> normal(std::size_t count) {
  static const std::vector<double> values = normal_values(longest, 1);
  return std::span(values).first(count);
}

std::span<const double> nasty(std::size_t count, std::size_t which) {
  static std::array<std::vector<double>, 16> values;
  if (values[which].empty()) values[which] = nasty_values(longest, which);
  return std::span<const double>(values[which]).first(count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const int ranks = 1 + static_cast<int>(input.choice(5));
  const std::string_view spec = input.one_of(specs_for(ranks)).spec;
  const ElementType type = input.one_of(all_element_types);
  const std::size_t elements = length_of(input);
  const std::uint8_t flags = input.byte();
  const int rank = flags / 4 % ranks;
  const Spec parsed = parse_spec(spec);
  const auto codec = find_codec(parsed.name)
                         .make({.rank = rank,
                                .ranks = ranks,
                                .type = type,
                                .divisor = (flags & 1) != 0 ? std::uint64_t(ranks) : 1,
                                .kernels = kernels::kernel_table(),
                                .parameters = parsed.parameters,
                                .elements = elements,
                                .mean = (flags & 1) != 0});
  OneRank one(input, *codec, ranks, elements);
  codec->reserve(elements, one.chunking().longest_piece());
  const auto values = (flags & 2) != 0 ? nasty(elements, flags >> 4) : normal(elements);
  const Bytes in = to_bytes(type, values);
  Bytes out(in.size()), state(codec->state_bytes(elements));
  codec->begin({type, in.data(), out.data(), input.byte() % 8u, state, one.chunking().pieces()});
  try {
    one.run();
  } catch (const Error&) {
    // What is wrong with words of others is an error, and nothing else.
  }
  return 0;
}
