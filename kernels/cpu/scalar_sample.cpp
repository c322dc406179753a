#include "kernels/cpu/scalar_sample.hpp"

#include "kernels/body/lanes.hpp"
#include "kernels/body/random.hpp"
#include "kernels/body/sign.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace cohom::kernels {
namespace {

using namespace body;

/// A block of a run, and where its parts lie.
struct Block {
  std::size_t first;      ///< position in the run's bits
  std::size_t own_first;  ///< position in a rank's own bits of the run
  std::size_t padded;     ///< positions
  std::size_t groups;     ///< bits that a rank owns
  std::uint32_t frame;    ///< of the draws
};

template <class Visit>
void for_each_block(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                    Visit visit) {
  const std::size_t whole = sampled_bits(sign_block, format.ranks);
  for (std::size_t offset = 0, b = 0; offset < run.count; offset += sign_block, ++b) {
    const std::size_t padded = padded_signs(std::min(sign_block, run.count - offset));
    visit(Block{offset, b * whole, padded, sampled_bits(padded, format.ranks),
                frame(key, (run.first + offset) / sign_block)});
  }
}

/// Numbers of the permutations of a block's groups.
using Permutations = std::array<std::uint32_t, sign_block>;

void draw_permutations(const SampleFormat& format, const Block& block, Permutations& numbers) {
  const std::uint64_t all = std::uint64_t{format.ranks} * format.units.size();
  for (std::uint32_t g = 0; g < block.groups; ++g)
    numbers[g] = static_cast<std::uint32_t>(draw(block.frame, g) * all >> 32);
}

/// Where `rank` is chosen in a group with that permutation.
std::uint32_t position_of(const SampleFormat& format, std::uint32_t number, std::uint32_t rank) {
  const auto units = static_cast<std::uint32_t>(format.units.size());
  const std::uint64_t distance = (rank + format.ranks - number / units) % format.ranks;
  return static_cast<std::uint32_t>(distance * format.inverses[number % units] % format.ranks);
}

bool bit_at(const std::uint64_t* bits, std::size_t position) {
  return (bits[position / 64] >> (position % 64) & 1) != 0;
}

/// Calls visit(group, position in the run's bits) for the positions that this rank owns.
template <class Visit>
void for_each_own(const SampleFormat& format, const Block& block, Visit visit) {
  Permutations numbers;
  draw_permutations(format, block, numbers);
  const bool tabled = !format.positions.empty();
  for (std::size_t g = 0; g < block.groups; ++g) {
    const std::size_t position =
        g * format.ranks + (tabled ? format.positions[numbers[g]]
                                   : position_of(format, numbers[g], format.rank));
    if (position < block.padded) visit(g, block.first + position);
  }
}

/// Words of a block's bits; a ragged block of 16 or 32 takes a part of one.
std::size_t words_of(const Block& block) { return words_per_block(block.padded, 1); }

void keep_own(const SampleFormat& format, std::uint64_t key, const SignRun& run,
              std::uint64_t* bits) {
  for_each_block(format, key, run, [&](const Block& block) {
    std::uint64_t mask[sign_block / 64] = {};
    for_each_own(format, block, [&](std::size_t, std::size_t position) {
      mask[(position - block.first) / 64] |= std::uint64_t{1} << (position % 64);
    });
    std::uint64_t* const words = bits + block.first / 64;
    for (std::size_t i = 0; i < words_of(block); ++i) words[i] &= mask[i];
  });
}

void gather_own(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                const std::uint64_t* bits, std::uint64_t* own) {
  std::fill_n(own, sampled_words(run.count, format.ranks), std::uint64_t{0});
  for_each_block(format, key, run, [&](const Block& block) {
    for_each_own(format, block, [&](std::size_t g, std::size_t position) {
      const std::size_t to = block.own_first + g;
      own[to / 64] |= std::uint64_t{bit_at(bits, position)} << (to % 64);
    });
  });
}

void place(const SampleFormat& format, std::uint64_t key, const SignRun& run,
           const std::uint64_t* const* contributions, std::uint64_t* bits) {
  const std::uint32_t n = format.ranks;
  for_each_block(format, key, run, [&](const Block& block) {
    Permutations numbers;
    draw_permutations(format, block, numbers);
    std::uint64_t words[sign_block / 64 + 1] = {};
    for (std::size_t g = 0; g < block.groups; ++g) {
      const std::size_t from = block.own_first + g;
      const std::size_t end = std::min<std::size_t>(n, block.padded - g * n);
      for (std::uint32_t i = 0; i < n; ++i) {
        std::uint32_t position = i, rank = i;
        if (!format.chosen.empty())
          rank = format.chosen[numbers[g] * n + i];
        else
          position = position_of(format, numbers[g], rank);
        if (position >= end) continue;
        const std::size_t to = g * n + position;
        words[to / 64] |= std::uint64_t{bit_at(contributions[rank], from)} << (to % 64);
      }
    }
    std::copy_n(words, words_of(block), bits + block.first / 64);
  });
}

}  // namespace

SampleFormat make_sample_format(std::uint32_t rank, std::uint32_t ranks) {
  SampleFormat format;
  format.ranks = ranks;
  format.rank = rank;
  for (std::uint32_t a = 0; a < ranks; ++a)
    if (std::gcd(a, ranks) == 1) format.units.push_back(a);
  // The inverse of a unit: its powers come back to 1.
  for (const std::uint64_t a : format.units) {
    std::uint64_t inverse = 1 % ranks;
    while (inverse * a % ranks != 1 % ranks) inverse = inverse * a % ranks;
    format.inverses.push_back(static_cast<std::uint32_t>(inverse));
  }
  if (ranks > sample_table_ranks) return format;
  for (std::uint32_t number = 0; number < ranks * format.units.size(); ++number) {
    format.positions.push_back(static_cast<std::uint8_t>(position_of(format, number, rank)));
    const auto units = static_cast<std::uint32_t>(format.units.size());
    for (std::uint32_t i = 0; i < ranks; ++i)
      format.chosen.push_back(
          static_cast<std::uint8_t>((format.units[number % units] * i + number / units) % ranks));
  }
  return format;
}

std::size_t sampled_words(std::size_t elements, std::uint32_t ranks) {
  std::size_t bits = elements / sign_block * sampled_bits(sign_block, ranks);
  if (const std::size_t ragged = elements % sign_block; ragged != 0)
    bits += sampled_bits(padded_signs(ragged), ranks);
  return (bits + 63) / 64;
}

SampleKernels scalar_sample() { return {keep_own, gather_own, place}; }

}  // namespace cohom::kernels
