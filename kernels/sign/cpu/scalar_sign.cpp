#include "kernels/sign/cpu/sign_rows.hpp"

#include "kernels/core/body/element.hpp"
#include "kernels/sign/body/sign.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace cohom::kernels {
namespace {

using namespace body;

struct Block {
  std::size_t number;
  std::size_t offset;  ///< of its first element in the run
  std::size_t count;
  std::size_t padded;
};

template <class Visit>
void for_each_block(const SignRun& run, Visit visit) {
  std::size_t number = 0;
  for (std::size_t offset = 0; offset < run.count; offset += sign_block, ++number) {
    const std::size_t count = std::min(sign_block, run.count - offset);
    visit(Block{number, offset, count, padded_signs(count)});
  }
}

/// Words before a block in a payload with lanes of `width` bits: all blocks before it are whole.
std::size_t words_before(const Block& block, unsigned width) {
  return block.number * words_per_block(sign_block, width);
}

template <class T>
SignBlock measure_block(const Block& block, const void* input, void* state, bool of_input) {
  using Real = Arithmetic<T>;
  typename FloatFormat<Real>::Bits largest = 0, own = 0;
  std::array<Real, sign_block> measured;
  for (std::size_t i = 0; i < block.count; ++i) {
    const Real x = load_element<T>(input, block.offset + i);
    Real v = x;
    if (state != nullptr) {
      v = x + load_element<Real>(state, block.offset + i);
      store_element<Real>(state, block.offset + i, v);
    }
    measured[i] = of_input ? x : v;
    largest = std::max(largest, magnitude_bits(measured[i]));
    own = std::max(own, magnitude_bits(v));
  }
  SignBlock result = block_of_magnitudes<Real>(largest, own);
  if (result.code == 0 || result.code == escaped_code) return result;
  const UnitScale<Real> scale(static_cast<int>(result.code) - sign_exponent_offset);
  Real sums[16] = {};
  for (std::size_t i = 0; i < block.count; ++i)
    sums[i % 16] += from_bits<Real>(magnitude_bits(measured[i])) * scale.first * scale.second;
  result.sum = static_cast<double>(folded(sums));
  return result;
}

void measure(const SignRun& run, const void* input, void* state, bool of_input, SignBlock* blocks) {
  with_element_type(run.type, [&]<class T>(T) {
    for_each_block(run, [&](const Block& block) {
      blocks[block.number] = measure_block<T>(block, input, state, of_input);
    });
  });
}

/// Calls plus(element of the run) for every element of the block and packs the answers.
template <class Plus>
void pack_block(const Block& block, std::uint64_t* words, Plus plus) {
  const std::size_t block_words = words_per_block(block.padded, 1);
  words += words_before(block, 1);
  std::fill_n(words, block_words, std::uint64_t{0});
  for (std::size_t e = 0; e < block.count; ++e)
    words[e % block_words] |= std::uint64_t{plus(block.offset + e)} << (e / block_words);
}

void clear_block(const Block& block, std::uint64_t* words) {
  std::fill_n(words + words_before(block, 1), words_per_block(block.padded, 1), std::uint64_t{0});
}

template <class T>
void pack_values(const SignRun& run, const void* values, const double* scales, bool zeros_are_plus,
                 std::uint64_t* bits) {
  for_each_block(run, [&](const Block& block) {
    if (!(scales[block.number] > 0)) return clear_block(block, bits);
    pack_block(block, bits,
               [&](std::size_t i) { return is_plus(load_element<T>(values, i), zeros_are_plus); });
  });
}

void pack(const SignRun& run, const void* input, const void* state, const double* scales,
          bool zeros_are_plus, std::uint64_t* bits) {
  with_element_type(run.type, [&]<class T>(T) {
    if (state != nullptr)
      pack_values<Arithmetic<T>>(run, state, scales, zeros_are_plus, bits);
    else
      pack_values<T>(run, input, scales, zeros_are_plus, bits);
  });
}

template <class Real>
void pack_and_subtract(const SignRun& run, void* state, const double* scales, bool zeros_are_plus,
                       std::uint64_t* bits) {
  for_each_block(run, [&](const Block& block) {
    if (!(scales[block.number] > 0)) return clear_block(block, bits);
    const auto scale = static_cast<Real>(scales[block.number]);
    pack_block(block, bits, [&](std::size_t i) {
      const Real v = load_element<Real>(state, i);
      const bool plus = is_plus(v, zeros_are_plus);
      store_element<Real>(state, i, v - (plus ? scale : -scale));
      return plus;
    });
  });
}

void pack_feedback(const SignRun& run, void* state, const double* scales, bool zeros_are_plus,
                   std::uint64_t* bits) {
  if (run.type == ElementType::f64)
    pack_and_subtract<double>(run, state, scales, zeros_are_plus, bits);
  else
    pack_and_subtract<float>(run, state, scales, zeros_are_plus, bits);
}

void count(const SignCounts& counts, const SignRun& run, const std::uint64_t* const* contributions,
           std::size_t contribution_count, std::uint64_t* sum) {
  for_each_block(run, [&](const Block& block) {
    std::array<std::uint32_t, sign_block> values{};
    const std::size_t block_words = words_per_block(block.padded, 1);
    for (std::size_t c = 0; c < contribution_count; ++c) {
      const std::uint64_t* words = contributions[c] + words_before(block, 1);
      for (std::size_t e = 0; e < block.padded; ++e)
        values[e] += words[e % block_words] >> (e / block_words) & 1;
    }
    pack_lanes(values.data(), block.padded, counts.width, sum + words_before(block, counts.width));
  });
}

void majority(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum, bool odd,
              std::uint64_t* bits) {
  for_each_block(run, [&](const Block& block) {
    std::array<std::uint32_t, sign_block> values;
    unpack_lanes(sum + words_before(block, counts.width), block.padded, counts.width,
                 values.data());
    const std::size_t block_words = words_per_block(block.padded, 1);
    pack_block(block, bits, [&](std::size_t i) {
      const std::size_t e = i - block.offset;
      const bool tie_is_plus = (e / block_words + odd) % 2 == 0;
      return values[e] >= majority_threshold(counts.ranks, tie_is_plus);
    });
  });
}

/// Calls visit(block, its scale) for blocks that have signs. Those that are zero on all ranks
/// become zeros, escaped ones stay as they are.
template <class T, class Visit>
void for_each_sign_block(const SignRun& run, const double* scales, void* output, Visit visit) {
  for_each_block(run, [&](const Block& block) {
    const double scale = scales[block.number];
    if (scale > 0) visit(block, scale);
    if (scale == 0)
      for (std::size_t i = 0; i < block.count; ++i) store_element<T>(output, block.offset + i, 0);
  });
}

void expand(const SignRun& run, const std::uint64_t* bits, const double* scales,
            std::uint32_t ranks, std::uint64_t divisor, void* state, void* output) {
  with_element_type(run.type, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    for_each_sign_block<T>(run, scales, output, [&](const Block& block, double scale) {
      const auto value = sign_value<Real>(scale, ranks, divisor);
      const auto own = static_cast<Real>(scale);
      const std::size_t block_words = words_per_block(block.padded, 1);
      const std::uint64_t* words = bits + words_before(block, 1);
      for (std::size_t e = 0; e < block.count; ++e) {
        const bool plus = (words[e % block_words] >> (e / block_words) & 1) != 0;
        const std::size_t i = block.offset + e;
        store_element<T>(output, i, plus ? value : -value);
        if (state == nullptr) continue;
        store_element<Real>(state, i, load_element<Real>(state, i) - (plus ? own : -own));
      }
    });
  });
}

void expand_counts(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                   const double* scales, std::uint64_t divisor, void* output) {
  with_element_type(run.type, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    for_each_sign_block<T>(run, scales, output, [&](const Block& block, double scale) {
      std::array<std::int32_t, sign_block> values;
      unpack_lanes(sum + words_before(block, counts.width), block.padded, counts.width,
                   values.data());
      const auto ranks = static_cast<std::int32_t>(counts.ranks);
      for (std::size_t e = 0; e < block.count; ++e) {
        Real value = static_cast<Real>(2 * values[e] - ranks) * static_cast<Real>(scale);
        if (divisor > 1) value /= static_cast<Real>(divisor);
        store_element<T>(output, block.offset + e, value);
      }
    });
  });
}

}  // namespace

SignKernels scalar_sign() {
  return {measure, pack, pack_feedback, count, majority, expand, expand_counts};
}

}  // namespace cohom::kernels
