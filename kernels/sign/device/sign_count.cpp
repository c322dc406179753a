// Counting plus signs, and the sign that most ranks have.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/sign/device/sign_positions.hpp"
#include "kernels/sign/device/sign_rows.hpp"

#include <vector>

namespace cohom::kernels::device {
namespace {

constexpr unsigned max_planes = 16;

/// Counts of 64 elements at once, bit by bit: bit k of their counts is in planes[k]. Then a thread
/// puts a word of lanes together.
struct CountSigns {
  static constexpr unsigned threads = sign_threads;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 2;
  using Local = Nothing;
  struct Shared {
    std::uint64_t planes[sign_blocks_of_tile][max_planes][sign_columns];
  };

  std::size_t tiles;
  std::size_t count;
  const std::uint64_t* const* contributions;
  std::size_t contribution_count;
  unsigned width;
  std::uint64_t* sum;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    const unsigned slot = at.thread / sign_columns, column = at.thread % sign_columns;
    const SignBlockPosition block = sign_block_at(at.tile * sign_blocks_of_tile + slot, count);
    if (block.count == 0) return;
    if constexpr (phase == 0)
      add_up(block, column, shared.planes[slot]);
    else
      write_lanes(block, column, shared.planes[slot]);
  }

  COHOM_HD void add_up(const SignBlockPosition& block, unsigned word,
                       std::uint64_t (&planes)[max_planes][sign_columns]) const {
    if (word >= block.words(1)) return;
    const std::size_t i = block.words_before(1) + word;
    std::uint64_t own[4] = {0, 0, 0, 0};  // few contributions need no more
    std::uint64_t overflow[max_planes - 4] = {};
    for (std::size_t c = 0; c < contribution_count; ++c) {
      std::uint64_t carry = contributions[c][i];
      COHOM_UNROLL
      for (unsigned k = 0; k < 4; ++k) {
        const std::uint64_t both = own[k] & carry;
        own[k] ^= carry;
        carry = both;
      }
      if (width <= 4 || carry == 0) continue;
      COHOM_UNROLL
      for (unsigned k = 0; k < max_planes - 4; ++k) {
        const std::uint64_t both = overflow[k] & carry;
        overflow[k] ^= carry;
        carry = both;
      }
    }
    COHOM_UNROLL
    for (unsigned k = 0; k < 4; ++k) planes[k][word] = own[k];
    COHOM_UNROLL
    for (unsigned k = 4; k < max_planes; ++k)
      if (k < width) planes[k][word] = overflow[k - 4];
  }

  COHOM_HD void write_lanes(const SignBlockPosition& block, unsigned column,
                            const std::uint64_t (&planes)[max_planes][sign_columns]) const {
    const unsigned bit_words = block.words(1), words = block.words(width);
    std::uint64_t* const to = sum + block.words_before(width);
    for (unsigned w = column; w < words; w += sign_columns) {
      std::uint64_t word = 0;
      unsigned shift = 0;
      for (unsigned e = w; e < block.padded; e += words, shift += width) {
        std::uint64_t lane = 0;
        for (unsigned k = 0; k < width; ++k)
          lane |= (planes[k][e % bit_words] >> (e / bit_words) & 1) << k;
        word |= lane << shift;
      }
      to[w] = word;
    }
  }
};

struct MajorityOfSigns {
  static constexpr unsigned threads = sign_threads;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  std::size_t count;
  SignCounts counts;
  const std::uint64_t* sum;
  bool odd;
  std::uint64_t* bits;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const SignBlockPosition block =
        sign_block_at(at.tile * sign_blocks_of_tile + at.thread / sign_columns, count);
    const unsigned word = at.thread % sign_columns;
    if (block.count == 0 || word >= block.words(1)) return;
    const std::uint64_t* const from = sum + block.words_before(counts.width);
    const unsigned words = block.words(counts.width);
    std::uint64_t outcome = 0;
    const unsigned bit_words = block.words(1);
    unsigned bit = 0;
    for (unsigned e = word; e < block.count; e += bit_words, ++bit) {
      const bool tie_is_plus = (bit + (odd ? 1 : 0)) % 2 == 0;
      const std::uint64_t value = body::lane_at(from, words, counts.width, e);
      outcome |= std::uint64_t{value >= body::majority_threshold(counts.ranks, tie_is_plus)} << bit;
    }
    bits[block.words_before(1) + word] = outcome;
  }
};

}  // namespace

void count_signs(const SignCounts& counts, const SignRun& run,
                 const std::uint64_t* const* contributions, std::size_t contribution_count,
                 std::uint64_t* sum) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(sum, 8, "signs: a sum");
  std::vector<const std::uint64_t*> views;
  views.reserve(contribution_count);
  for (std::size_t c = 0; c < contribution_count; ++c) {
    expect_aligned(contributions[c], 8, "signs: a contribution");
    views.push_back(view(contributions[c]));
  }
  launch(CountSigns{.tiles = tiles_of(tiles_of(run.count, sign_block), sign_blocks_of_tile),
                    .count = run.count,
                    .contributions = static_cast<const std::uint64_t* const*>(
                        view(context.upload(views.data(), views.size() * sizeof(void*)))),
                    .contribution_count = contribution_count,
                    .width = counts.width,
                    .sum = view(sum)});
}

/// In place, blocks would be written while others are still to be read.
void majority_of_signs(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                       bool odd, std::uint64_t* bits) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(sum, 8, "signs: a sum");
  expect_aligned(bits, 8, "signs: words");
  const std::size_t blocks = tiles_of(run.count, sign_block);
  const SignBlockPosition last = sign_block_at(blocks - 1, run.count);
  const std::size_t bytes = 8 * (last.words_before(1) + last.words(1));
  auto* const outcome = bits == sum ? static_cast<std::uint64_t*>(context.scratch(bytes)) : bits;
  launch(MajorityOfSigns{.tiles = tiles_of(blocks, sign_blocks_of_tile),
                         .count = run.count,
                         .counts = counts,
                         .sum = view(sum),
                         .odd = odd,
                         .bits = view(outcome)});
  if (outcome != bits) context.runtime().copy_within(bits, outcome, bytes, context.stream());
}

}  // namespace cohom::kernels::device
