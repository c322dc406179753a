#pragma once
// Sampling signs block by block: moving bits between their places and the ranks that own them. What
// differs between instruction sets is how permutations are drawn.

#include "kernels/core/body/lanes.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/sample/sample.hpp"
#include "kernels/sign/body/sign.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

/// Where `rank` is chosen in a group with that permutation.
std::uint32_t position_of(const SampleFormat& format, std::uint32_t number, std::uint32_t rank);

/// A block of a run, and where its parts lie.
struct SampleBlock {
  std::size_t first;      ///< position in the run's bits
  std::size_t own_first;  ///< position in a rank's own bits of the run
  std::size_t padded;     ///< positions
  std::size_t groups;     ///< bits that a rank owns
  std::uint32_t frame;    ///< of the draws

  [[nodiscard]] std::size_t words() const { return body::words_per_block(padded, 1); }
};

template <class Visit>
void for_each_sample_block(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                           Visit visit) {
  const std::size_t whole = sampled_bits(sign_block, format.ranks);
  for (std::size_t offset = 0, b = 0; offset < run.count; offset += sign_block, ++b) {
    const std::size_t padded = body::padded_signs(std::min(sign_block, run.count - offset));
    visit(SampleBlock{offset, b * whole, padded, sampled_bits(padded, format.ranks),
                      body::frame(key, (run.first + offset) / sign_block)});
  }
}

/// Numbers of the permutations of a block's groups; with room for a vector more.
using Permutations = std::array<std::uint32_t, sign_block + 16>;

/// numbers[g] := draw g of the frame times `all`, divided by 2^32.
using DrawPermutations = void (*)(std::uint32_t frame, std::size_t groups, std::uint32_t all,
                                  Permutations& numbers);

inline std::uint32_t permutations_of(const SampleFormat& format) {
  return format.ranks * static_cast<std::uint32_t>(format.units.size());
}

/// Puts bits one behind the other.
class BitWriter {
 public:
  explicit BitWriter(std::uint64_t* words) : next_(words) {}

  /// The lowest `count` < 64 bits of `bits`; there are no others.
  void put(std::uint64_t bits, unsigned count) {
    word_ |= bits << used_;
    used_ += count;
    if (used_ < 64) return;
    *next_++ = word_;
    used_ -= 64;
    word_ = used_ == 0 ? 0 : bits >> (count - used_);
  }
  void flush() {
    if (used_ != 0) *next_ = word_;
  }

 private:
  std::uint64_t* next_;
  std::uint64_t word_ = 0;
  unsigned used_ = 0;
};

/// Words with room for the groups that reach beyond a block of so many ranks at most.
using GroupBits = std::array<std::uint64_t, sign_block / 64 + sample_table_ranks / 64 + 2>;

/// The bits that this rank owns in a block.
template <DrawPermutations draw>
void make_mask(const SampleFormat& format, const SampleBlock& block, std::uint64_t* mask) {
  Permutations numbers;
  draw(block.frame, block.groups, permutations_of(format), numbers);
  if (!format.positions.empty()) {
    GroupBits bits{};
    BitWriter writer(bits.data());
    for (std::size_t g = 0; g < block.groups; ++g)
      writer.put(std::uint64_t{1} << format.positions[numbers[g]], format.ranks);
    writer.flush();
    std::copy_n(bits.data(), block.words(), mask);
  } else {
    std::fill_n(mask, block.words(), std::uint64_t{0});
    for (std::size_t g = 0; g < block.groups; ++g) {
      const std::size_t position = g * format.ranks + position_of(format, numbers[g], format.rank);
      if (position < block.padded) mask[position / 64] |= std::uint64_t{1} << (position % 64);
    }
  }
}

template <DrawPermutations draw>
void keep_own(const SampleFormat& format, std::uint64_t key, const SignRun& run,
              std::uint64_t* bits) {
  for_each_sample_block(format, key, run, [&](const SampleBlock& block) {
    std::uint64_t mask[sign_block / 64];
    make_mask<draw>(format, block, mask);
    std::uint64_t* const words = bits + block.first / 64;
    for (std::size_t i = 0; i < block.words(); ++i) words[i] &= mask[i];
  });
}

template <DrawPermutations draw>
void gather_own(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                const std::uint64_t* bits, std::uint64_t* own) {
  BitWriter writer(own);
  for_each_sample_block(format, key, run, [&](const SampleBlock& block) {
    Permutations numbers;
    draw(block.frame, block.groups, permutations_of(format), numbers);
    GroupBits words{};  // positions beyond the block are zeros
    std::copy_n(bits + block.first / 64, block.words(), words.data());
    const auto bit_of_group = [&](std::size_t g) {
      const std::size_t position =
          g * format.ranks + (format.positions.empty()
                                  ? position_of(format, numbers[g], format.rank)
                                  : format.positions[numbers[g]]);
      const bool there = position < block.padded;
      return there ? words[position / 64] >> (position % 64) & 1 : 0;
    };
    for (std::size_t g = 0; g < block.groups; g += 32) {
      const std::size_t here = std::min<std::size_t>(32, block.groups - g);
      std::uint64_t some = 0;
      for (std::size_t i = 0; i < here; ++i) some |= bit_of_group(g + i) << i;
      writer.put(some, static_cast<unsigned>(here));
    }
  });
  writer.flush();
}

/// Bits first ... first + 63 of a run of words, of which `end` are there.
inline std::uint64_t bits_from(const std::uint64_t* words, std::size_t first, std::size_t end) {
  const std::size_t word = first / 64, shift = first % 64;
  std::uint64_t bits = words[word] >> shift;
  if (shift != 0 && 64 * (word + 1) < end) bits |= words[word + 1] << (64 - shift);
  return bits;
}

/// Byte i of the result: bit i of every byte (Hacker's Delight, 7-3).
inline std::uint64_t transposed(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aau;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000cccc0000ccccu;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0u;
  return x ^ t ^ (t << 28);
}

/// With a table: the bits of a group's ranks, eight ranks at a time, pick their places at once.
template <DrawPermutations draw>
void place_by_table(const SampleFormat& format, const SampleBlock& block, std::size_t end,
                    const std::uint64_t* const* contributions, std::uint64_t* bits) {
  Permutations numbers;
  draw(block.frame, block.groups, permutations_of(format), numbers);
  const std::size_t halves = (format.ranks + 7) / 8;
  GroupBits words{};
  BitWriter writer(words.data());
  std::uint64_t own[sample_table_ranks];
  for (std::size_t g = 0; g < block.groups; g += 64) {
    for (std::uint32_t r = 0; r < format.ranks; ++r)
      own[r] = bits_from(contributions[r], block.own_first + g, end);
    const std::size_t here = std::min<std::size_t>(64, block.groups - g);
    for (std::size_t eight = 0; eight < here; eight += 8) {
      std::uint64_t columns[2] = {};
      for (std::uint32_t r = 0; r < format.ranks; ++r)
        columns[r / 8] |= (own[r] >> eight & 0xff) << (8 * (r % 8));
      for (std::size_t h = 0; h < halves; ++h) columns[h] = transposed(columns[h]);
      for (std::size_t i = 0; i < std::min<std::size_t>(8, here - eight); ++i) {
        const std::uint16_t* row = format.places.data() + numbers[g + eight + i] * halves * 256;
        std::uint64_t group = row[columns[0] >> (8 * i) & 0xff];
        if (halves > 1) group |= row[256 + (columns[1] >> (8 * i) & 0xff)];
        writer.put(group, format.ranks);
      }
    }
  }
  writer.flush();
  std::copy_n(words.data(), block.words(), bits + block.first / 64);
}

/// Position by position, not rank by rank: a group may have far more ranks than positions.
template <DrawPermutations draw>
void place_one_by_one(const SampleFormat& format, const SampleBlock& block,
                      const std::uint64_t* const* contributions, std::uint64_t* bits) {
  Permutations numbers;
  draw(block.frame, block.groups, permutations_of(format), numbers);
  std::uint64_t* const words = bits + block.first / 64;
  std::fill_n(words, block.words(), std::uint64_t{0});
  const auto units = static_cast<std::uint32_t>(format.units.size());
  for (std::size_t g = 0; g < block.groups; ++g) {
    const std::size_t from = block.own_first + g;
    const std::size_t end = std::min((g + 1) * format.ranks, block.padded);
    const std::uint32_t a = format.units[numbers[g] % units];
    std::uint32_t rank = numbers[g] / units;
    for (std::size_t position = g * format.ranks; position < end; ++position) {
      words[position / 64] |= (contributions[rank][from / 64] >> (from % 64) & 1)
                              << (position % 64);
      rank += a;
      if (rank >= format.ranks) rank -= format.ranks;
    }
  }
}

template <DrawPermutations draw>
void place(const SampleFormat& format, std::uint64_t key, const SignRun& run,
           const std::uint64_t* const* contributions, std::uint64_t* bits) {
  const std::size_t end = 64 * sampled_words(run.count, format.ranks);
  for_each_sample_block(format, key, run, [&](const SampleBlock& block) {
    if (format.places.empty())
      place_one_by_one<draw>(format, block, contributions, bits);
    else
      place_by_table<draw>(format, block, end, contributions, bits);
  });
}

template <DrawPermutations draw>
SampleKernels sample_row() {
  return {keep_own<draw>, gather_own<draw>, place<draw>};
}

}  // namespace cohom::kernels
