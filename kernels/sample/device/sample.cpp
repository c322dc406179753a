// Sampling signs: a thread makes a word, and draws the permutations of the groups that it has bits
// of.

#include "kernels/core/body/random.hpp"
#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/sample/device/sample_rows.hpp"
#include "kernels/sign/device/sign_positions.hpp"

#include <vector>

namespace cohom::kernels::device {
namespace {

using Word = std::uint64_t;

/// A SampleFormat and a call's key, with tables in device memory.
struct Sampling {
  std::uint32_t ranks, rank;
  std::uint32_t units;
  const std::uint32_t* unit;     ///< by number
  const std::uint32_t* inverse;  ///< likewise
  std::uint64_t key;
  std::size_t first_block;

  [[nodiscard]] COHOM_HD std::uint32_t frame(std::size_t block) const {
    return body::frame(key, first_block + block);
  }
  /// Number of the permutation of a group.
  [[nodiscard]] COHOM_HD std::uint32_t number(std::uint32_t frame, unsigned group) const {
    return static_cast<std::uint32_t>(std::uint64_t{body::draw(frame, group)} * (ranks * units) >>
                                      32);
  }
  /// Where a rank is chosen in a group with that permutation.
  [[nodiscard]] COHOM_HD std::uint32_t position(std::uint32_t permutation,
                                                std::uint32_t of_rank) const {
    const std::uint64_t distance = (of_rank + ranks - permutation / units) % ranks;
    return static_cast<std::uint32_t>(distance * inverse[permutation % units] % ranks);
  }
  /// Bits that each rank owns in a whole block.
  [[nodiscard]] COHOM_HD std::size_t whole() const { return sampled_bits(sign_block, ranks); }
};

Sampling upload(DeviceContext& context, const SampleFormat& format, std::uint64_t key,
                const SignRun& run) {
  std::vector<std::uint32_t> tables = format.units;
  tables.insert(tables.end(), format.inverses.begin(), format.inverses.end());
  const auto* const all =
      static_cast<const std::uint32_t*>(view(context.upload(tables.data(), tables.size() * 4)));
  return {.ranks = format.ranks,
          .rank = format.rank,
          .units = static_cast<std::uint32_t>(format.units.size()),
          .unit = all,
          .inverse = all + format.units.size(),
          .key = key,
          .first_block = run.first / sign_block};
}

/// Words of signs, where block i / 16 has word i.
struct SignWord {
  SignBlockPosition block;
  unsigned word;

  COHOM_HD SignWord(std::size_t i, std::size_t count)
      : block(sign_block_at(i / sign_columns, count)),
        word(static_cast<unsigned>(i % sign_columns)) {}
  [[nodiscard]] COHOM_HD bool exists() const { return block.count != 0 && word < block.words(1); }
  /// Positions in the block: from the first one on, and below the end.
  [[nodiscard]] COHOM_HD unsigned begin() const { return 64 * word; }
  [[nodiscard]] COHOM_HD unsigned end() const {
    return begin() + 64 < block.padded ? begin() + 64 : block.padded;
  }
};

struct KeepOwn {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  Sampling sampling;
  std::size_t count;
  Word* bits;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    const SignWord here(i, count);
    if (!here.exists()) return;
    const std::uint32_t ranks = sampling.ranks;
    const std::uint32_t frame = sampling.frame(here.block.number);
    Word mask = 0;
    for (unsigned g = here.begin() / ranks; g * ranks < here.end(); ++g) {
      const unsigned position =
          g * ranks + sampling.position(sampling.number(frame, g), sampling.rank);
      if (position >= here.begin() && position < here.end())
        mask |= Word{1} << (position - here.begin());
    }
    bits[i] &= mask;
  }
};

struct GatherOwn {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  Sampling sampling;
  std::size_t count;
  const Word* bits;
  Word* own;
  std::size_t words;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i >= words) return;
    const std::size_t whole = sampling.whole();
    SignBlockPosition block = sign_block_at(64 * i / whole, count);
    auto group = static_cast<unsigned>(64 * i % whole);
    std::uint32_t frame = sampling.frame(block.number);
    Word word = 0;
    for (unsigned b = 0; b < 64 && block.count != 0; ++b) {
      word |= own_bit(block, frame, group) << b;
      if (++group < sampled_bits(block.padded, sampling.ranks)) continue;
      group = 0;
      block = sign_block_at(block.number + 1, count);
      frame = sampling.frame(block.number);
    }
    own[i] = word;
  }

  [[nodiscard]] COHOM_HD Word own_bit(const SignBlockPosition& block, std::uint32_t frame,
                                      unsigned group) const {
    const unsigned position =
        group * sampling.ranks + sampling.position(sampling.number(frame, group), sampling.rank);
    if (position >= block.padded) return 0;
    return bits[block.words_before(1) + position / 64] >> (position % 64) & 1;
  }
};

/// In a group with permutation (a, b), position i is rank (a i + b) mod ranks's.
struct Place {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  Sampling sampling;
  std::size_t count;
  const Word* const* contributions;
  Word* bits;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    const SignWord here(i, count);
    if (!here.exists()) return;
    const std::uint32_t ranks = sampling.ranks;
    const std::uint32_t frame = sampling.frame(here.block.number);
    const std::size_t own_first = here.block.number * sampling.whole();
    Word word = 0;
    for (unsigned g = here.begin() / ranks; g * ranks < here.end(); ++g) {
      const std::uint32_t permutation = sampling.number(frame, g);
      const std::uint32_t a = sampling.unit[permutation % sampling.units];
      const unsigned first = g * ranks < here.begin() ? here.begin() : g * ranks;
      const unsigned end = (g + 1) * ranks < here.end() ? (g + 1) * ranks : here.end();
      auto rank = static_cast<std::uint32_t>(
          (std::uint64_t{a} * (first - g * ranks) + permutation / sampling.units) % ranks);
      const std::size_t from = own_first + g;
      for (unsigned position = first; position < end; ++position) {
        word |= (contributions[rank][from / 64] >> (from % 64) & 1) << (position - here.begin());
        rank += a;
        if (rank >= ranks) rank -= ranks;
      }
    }
    bits[i] = word;
  }
};

/// Words of whole blocks at least.
std::size_t sign_words(std::size_t count) { return tiles_of(count, sign_block) * sign_columns; }

void keep_own(const SampleFormat& format, std::uint64_t key, const SignRun& run, Word* bits) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(bits, 8, "signs: words");
  launch(KeepOwn{.tiles = tiles_of(sign_words(run.count), KeepOwn::threads),
                 .sampling = upload(context, format, key, run),
                 .count = run.count,
                 .bits = view(bits)});
}

void gather_own(const SampleFormat& format, std::uint64_t key, const SignRun& run, const Word* bits,
                Word* own) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(bits, 8, "signs: words");
  expect_aligned(own, 8, "signs: own words");
  const std::size_t words = sampled_words(run.count, format.ranks);
  launch(GatherOwn{.tiles = tiles_of(words, GatherOwn::threads),
                   .sampling = upload(context, format, key, run),
                   .count = run.count,
                   .bits = view(bits),
                   .own = view(own),
                   .words = words});
}

void place(const SampleFormat& format, std::uint64_t key, const SignRun& run,
           const Word* const* contributions, Word* bits) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(bits, 8, "signs: words");
  std::vector<const Word*> views;
  for (std::uint32_t r = 0; r < format.ranks; ++r) {
    expect_aligned(contributions[r], 8, "signs: own words");
    views.push_back(view(contributions[r]));
  }
  launch(Place{.tiles = tiles_of(sign_words(run.count), Place::threads),
               .sampling = upload(context, format, key, run),
               .count = run.count,
               .contributions = static_cast<const Word* const*>(
                   view(context.upload(views.data(), views.size() * sizeof(void*)))),
               .bits = view(bits)});
}

}  // namespace

SampleKernels sample_row() { return {keep_own, gather_own, place}; }

}  // namespace cohom::kernels::device
