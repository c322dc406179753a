#pragma once
// What the kernels that sample signs share: which rank each element takes its sign from. The draws
// are specified in docs/wire-format.md ("marsit").

#include "kernels/sign/body/sign.hpp"
#include "kernels/sign/sign.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom::kernels {

/// Up to so many ranks all permutations are kept in tables.
inline constexpr std::uint32_t sample_table_ranks = 16;

/// Positions 0 ... of a block, in the order of its bits, fall into groups of `ranks`; in a group,
/// position i takes rank (a i + b) mod ranks, with a number a prime to ranks and any b. A group's
/// permutation has number b * units + (number of a among the units).
struct SampleFormat {
  std::uint32_t ranks = 1;
  std::uint32_t rank = 0;               ///< this one
  std::vector<std::uint32_t> units;     ///< numbers below `ranks` and prime to it, ascending
  std::vector<std::uint32_t> inverses;  ///< of the units, modulo ranks
  std::vector<std::uint8_t> positions;  ///< by permutation: where this rank is chosen
  std::vector<std::uint16_t> places;    ///< by permutation, eight ranks and their bits: the group's
};

SampleFormat make_sample_format(std::uint32_t rank, std::uint32_t ranks);

/// Bits that each rank owns in a block of `padded` positions.
constexpr std::size_t sampled_bits(std::size_t padded, std::uint32_t ranks) {
  return (padded + ranks - 1) / ranks;
}
/// Words of a rank's own bits of a run of blocks, one block's behind the other's.
constexpr std::size_t sampled_words(std::size_t elements, std::uint32_t ranks) {
  std::size_t bits = elements / sign_block * sampled_bits(sign_block, ranks);
  if (const std::size_t ragged = elements % sign_block; ragged != 0)
    bits += sampled_bits(body::padded_signs(ragged), ranks);
  return (bits + 63) / 64;
}

/// The keys are those of the call; `run.first` says which block is the first.
struct SampleKernels {
  /// bits := bits where this rank is chosen, else 0. Payload of a sum: one bit an element.
  void (*keep_own)(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                   std::uint64_t* bits);
  /// own := the bits where this rank is chosen, one a group.
  void (*gather_own)(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                     const std::uint64_t* bits, std::uint64_t* own);
  /// bits := every rank's own bits in their places; contributions in rank order.
  void (*place)(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                const std::uint64_t* const* contributions, std::uint64_t* bits);
};

/// Whether a device has all that codecs call.
constexpr bool complete(const SampleKernels& row) {
  return row.keep_own != nullptr && row.gather_own != nullptr && row.place != nullptr;
}

}  // namespace cohom::kernels
