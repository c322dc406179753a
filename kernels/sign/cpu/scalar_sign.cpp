#include "kernels/sign/cpu/sign_rows.hpp"

#include "kernels/core/body/element.hpp"
#include "kernels/core/cpu/scalar_blocks.hpp"
#include "kernels/sign/body/sign.hpp"
#include "kernels/sign/body/sign_blocks.hpp"

#include <algorithm>
#include <array>

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
void for_each_sign_block(const SignRun& run, Visit visit) {
  for_each_block<Signs>({run.type, run.count},
                        [&](std::size_t number, std::size_t offset, std::size_t count) {
                          visit(Block{number, offset, count, padded_signs(count)});
                        });
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
  if (result.code == 0 || result.code == outlier_code) return result;
  const UnitScale<Real> scale(static_cast<int>(result.code) - sign_exponent_offset);
  Real sums[16] = {};
  for (std::size_t i = 0; i < block.count; ++i)
    sums[i % 16] += from_bits<Real>(magnitude_bits(measured[i])) * scale.first * scale.second;
  result.sum = static_cast<double>(folded(sums));
  return result;
}

void measure(const SignRun& run, const void* input, void* state, bool of_input, SignBlock* blocks) {
  with_element_type(run.type, [&]<class T>(T) {
    for_each_sign_block(run, [&](const Block& block) {
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

void count(const SignCounts& counts, const SignRun& run, const std::uint64_t* const* contributions,
           std::size_t contribution_count, std::uint64_t* sum) {
  for_each_sign_block(run, [&](const Block& block) {
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
  for_each_sign_block(run, [&](const Block& block) {
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

void expand_counts(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                   const double* scales, std::uint64_t divisor, void* output) {
  with_element_type(run.type, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    const auto ranks = static_cast<std::int32_t>(counts.ranks);
    for_each_sign_block(run, [&](const Block& block) {
      const double scale = scales[block.number];
      if (!(scale >= 0)) return;
      std::array<std::int32_t, sign_block> values;
      unpack_lanes(sum + words_before(block, counts.width), block.padded, counts.width,
                   values.data());
      for (std::size_t e = 0; e < block.count; ++e) {
        Real value = static_cast<Real>(2 * values[e] - ranks) * static_cast<Real>(scale);
        if (divisor > 1) value /= static_cast<Real>(divisor);
        store_element<T>(output, block.offset + e, scale > 0 ? value : 0);
      }
    });
  });
}

using ByBody = SignsByBody<scalar_encode<Signs>, scalar_decode<Signs>>;

}  // namespace

SignKernels scalar_sign() {
  return {measure,  ByBody::pack,   ByBody::pack_feedback, count,
          majority, ByBody::expand, expand_counts};
}

}  // namespace cohom::kernels
