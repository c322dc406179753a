#pragma once
// Signs as a body: a block to its words of one bit an element, and back.

#include "kernels/core/body/block.hpp"
#include "kernels/core/body/lanes.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/sign/body/sign.hpp"
#include "kernels/sign/sign.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cohom::kernels::body {

/// Calls visit(bit, element of the block) for all real elements of word `word`.
template <class Visit>
COHOM_HD inline void for_each_of_word(std::size_t count, unsigned words, unsigned word,
                                      Visit visit) {
  if (count == sign_block) {
    constexpr unsigned columns = sign_block / 64;
    COHOM_UNROLL
    for (unsigned b = 0; b < 64; ++b) visit(b, b * columns + word);
    return;
  }
  unsigned b = 0;
  for (unsigned e = word; e < count; e += words, ++b) visit(b, e);
}

/// is_plus() of an element, without making a number of one of 16 bits.
template <class T, bool zeros_are_plus>
COHOM_HD inline bool has_plus(T element) {
  if constexpr (sizeof(T) == 2) {
    constexpr std::uint32_t infinity = std::is_same_v<T, float16> ? 0x7c00 : 0x7f80;
    const std::uint32_t bits = element.bits;
    return zeros_are_plus ? bits <= infinity || bits == 0x8000 : bits - 1 < infinity;
  } else {
    return is_plus(element, zeros_are_plus);
  }
}

/// A block's argument is its scale, what a sign stands for: below 0 where it is an outlier, 0 where
/// it is zero on all ranks.
struct Signs {
  static constexpr std::size_t block = sign_block;
  static constexpr unsigned team = 16;  // a word by every thread
  struct Settings {
    bool zeros_are_plus = false;  ///< of encoding
    std::uint32_t ranks = 1;      ///< of decoding, as is the divisor
    std::uint64_t divisor = 1;
  };
  using Argument = double;

  COHOM_HD static std::size_t words(const Settings&, std::size_t count) {
    return words_per_block(padded_signs(count), 1);
  }

  /// `kept` := the input, which holds what was kept before, less what its signs stand for; it is of
  /// the input's type.
  template <class Team, class Input, class Kept>
  COHOM_HD static void encode_block(const Team& team, const Settings& settings, const double& scale,
                                    std::size_t count, const Input& input, const Kept& kept,
                                    std::uint64_t* to) {
    const auto all = static_cast<unsigned>(words(settings, count));
    team.template each_of<block / 64>(all, [&](std::size_t i) {
      const auto word = static_cast<unsigned>(i);
      if (!(scale > 0)) {
        to[word] = 0;
        return;
      }
      const std::uint64_t signs = settings.zeros_are_plus ? packed<true>(input, count, all, word)
                                                          : packed<false>(input, count, all, word);
      if constexpr (sizeof(typename Input::Element) == sizeof(typename Input::Real)) {
        if (kept) {
          const auto own = static_cast<typename Input::Real>(scale);
          for_each_of_word(count, all, word, [&](unsigned bit, unsigned e) {
            kept.put(e, input[e] - ((signs >> bit & 1) != 0 ? own : -own));
          });
        }
      }
      to[word] = signs;
    });
  }

  /// With `kept`: it loses what the signs stand for.
  template <class Team, class Kept, class Output>
  COHOM_HD static bool decode_block(const Team& team, const Settings& settings, const double& scale,
                                    std::size_t count, const std::uint64_t* from, const Kept& kept,
                                    const Output& output) {
    using Real = typename Output::Real;
    if (!(scale >= 0)) return false;
    const auto all = static_cast<unsigned>(words(settings, count));
    const auto value = scale > 0 ? sign_value<Real>(scale, settings.ranks, settings.divisor) : 0;
    const auto plus = output.stored(value), minus = output.stored(scale > 0 ? -value : 0);
    const auto own = static_cast<Real>(scale);
    team.template each_of<block / 64>(all, [&](std::size_t i) {
      const auto word = static_cast<unsigned>(i);
      const std::uint64_t signs = from[word];
      for_each_of_word(count, all, word, [&](unsigned bit, unsigned e) {
        output.put_raw(e, (signs >> bit & 1) != 0 ? plus : minus);
      });
      if (kept && scale > 0)
        for_each_of_word(count, all, word, [&](unsigned bit, unsigned e) {
          kept.put(e, kept[e] - ((signs >> bit & 1) != 0 ? own : -own));
        });
    });
    return true;
  }

 private:
  /// Word `word` of `words`.
  template <bool zeros_are_plus, class Input>
  COHOM_HD static std::uint64_t packed(const Input& input, std::size_t count, unsigned words,
                                       unsigned word) {
    using Element = typename Input::Element;
    std::uint32_t halves[2] = {0, 0};
    for_each_of_word(count, words, word, [&](unsigned bit, unsigned e) {
      const std::uint32_t plus = has_plus<Element, zeros_are_plus>(input.raw(e)) ? 1 : 0;
      if (bit < 32)
        halves[0] |= plus << bit;
      else
        halves[1] |= plus << (bit - 32);
    });
    return std::uint64_t{halves[1]} << 32 | halves[0];
  }
};

}  // namespace cohom::kernels::body

namespace cohom::kernels {

/// The functions of SignKernels that are made of this body: `encode` and `decode` are those of its
/// BlockKernels.
template <auto encode, auto decode>
struct SignsByBody {
  static void pack(const SignRun& run, const void* input, const void* state, const double* scales,
                   bool zeros_are_plus, std::uint64_t* bits) {
    encode({.zeros_are_plus = zeros_are_plus}, state != nullptr ? kept(run) : elements(run),
           state != nullptr ? state : input, scales, nullptr, bits);
  }
  static void pack_feedback(const SignRun& run, void* state, const double* scales,
                            bool zeros_are_plus, std::uint64_t* bits) {
    encode({.zeros_are_plus = zeros_are_plus}, kept(run), state, scales, state, bits);
  }
  static void expand(const SignRun& run, const std::uint64_t* bits, const double* scales,
                     std::uint32_t ranks, std::uint64_t divisor, void* state, void* output) {
    decode({.ranks = ranks, .divisor = divisor}, elements(run), bits, scales, state, output);
  }

 private:
  static BlockRun elements(const SignRun& run) { return {run.type, run.count}; }
  static BlockRun kept(const SignRun& run) {
    return {run.type == ElementType::f64 ? ElementType::f64 : ElementType::f32, run.count};
  }
};

}  // namespace cohom::kernels
