#include "codecs/common/index/union_index.hpp"

#include <algorithm>
#include <vector>

namespace cohom {
namespace {

using kernels::bitmap_words;

/// Elements of a block of the upper level. They are counted from a piece's first element on.
constexpr std::size_t block = 512;
constexpr std::size_t block_words = block / 64;
constexpr std::size_t blocks_a_word = 32;  // two bits each

/// What the upper level says of a block. (A block may be both.)
enum Level : std::uint64_t { has_values = 1, is_full = 2 };

std::size_t blocks_of(std::size_t elements) { return elements / block + (elements % block != 0); }

/// Bits of the last word of so many elements.
std::uint64_t last_word(std::size_t elements) {
  return elements % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << elements % 64) - 1;
}

std::uint64_t level_of(ConstPayload levels, std::size_t block_of_piece) {
  return levels[block_of_piece / blocks_a_word] >> (block_of_piece % blocks_a_word * 2) & 3;
}

/// Calls visit(block, its first word in the bitmap, its words) for each block of a piece.
template <class Visit>
void for_each_block(std::size_t elements, Visit&& visit) {
  const std::size_t words = bitmap_words(elements);
  for (std::size_t b = 0; b < blocks_of(elements); ++b)
    visit(b, b * block_words, std::min(block_words, words - b * block_words));
}

class LevelsRound final : public Round {
 public:
  explicit LevelsRound(const IndexSetup& setup)
      : Round({.name = "blocks", .merge = {MergeKind::bit_or}, .needed_by = setup.needed_by}),
        type_(setup.context.type),
        host_(setup.context.on_host().sparse),
        own_(setup.own) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return (blocks_of(elements) + blocks_a_word - 1) / blocks_a_word;
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  /// Two bits a block: see level_of().
  [[nodiscard]] ConstPayload levels(const Piece& piece) const { return agreed(piece); }

 private:
  ElementType type_;
  const kernels::SparseKernels& host_;
  OwnPositions& own_;
};

std::size_t LevelsRound::encode(std::size_t contributions, const Piece& piece, Payload out) {
  own_.scan(piece);
  const std::size_t size = capacity(contributions, piece.count);
  const std::uint64_t* const own = own_.bits(piece);
  std::fill_n(out.data(), size, 0u);
  for_each_block(piece.count, [&](std::size_t b, std::size_t first, std::size_t words) {
    const std::size_t elements = std::min(block, piece.count - b * block);
    const std::size_t values = host_.count_bits(own + first, words);
    // The zeros of a full block travel as values; its index does not.
    const bool full = (elements - values) * size_of(type_) < words * 8;
    const std::uint64_t level = values == 0 ? 0u : std::uint64_t{full ? is_full : has_values};
    out[b / blocks_a_word] |= level << (b % blocks_a_word * 2);
  });
  return size;
}

class BlockBitsRound final : public Round {
 public:
  BlockBitsRound(const IndexSetup& setup, const LevelsRound& levels)
      : Round(index_traits(setup, PayloadLength::varying)),
        codec_(setup.codec),
        own_(setup.own),
        levels_(levels) {}

  void reserve(std::size_t longest_piece) { union_.resize(bitmap_words(longest_piece)); }
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return bitmap_words(elements);
  }
  std::size_t encode(std::size_t, const Piece& piece, Payload out) override {
    const std::uint64_t* const bits = own_.bits(piece);
    const ConstPayload levels = levels_.levels(piece);
    std::uint64_t* next = out.data();
    for_each_block(piece.count, [&](std::size_t b, std::size_t first, std::size_t words) {
      if (level_of(levels, b) == has_values) next = std::copy_n(bits + first, words, next);
    });
    return static_cast<std::size_t>(next - out.data());
  }
  [[nodiscard]] ConstPayload bits_of(const Piece& piece);

 private:
  std::string_view codec_;
  OwnPositions& own_;
  const LevelsRound& levels_;
  std::vector<std::uint64_t> union_;  ///< of one piece
};

/// The bitmap of a piece from its two levels.
ConstPayload BlockBitsRound::bits_of(const Piece& piece) {
  const ConstPayload lower = agreed(piece), levels = levels_.levels(piece);
  std::size_t next = 0;
  for_each_block(piece.count, [&](std::size_t b, std::size_t first, std::size_t words) {
    const std::uint64_t level = level_of(levels, b);
    std::uint64_t* const out = union_.data() + first;
    if (level != has_values) {
      std::fill_n(out, words, level == 0 ? 0 : ~std::uint64_t{0});
      return;
    }
    if (lower.size() - next < words) refuse_index(codec_);
    std::copy_n(lower.data() + next, words, out);
    next += words;
  });
  if (next != lower.size()) refuse_index(codec_);
  const std::size_t words = bitmap_words(piece.count);
  if (level_of(levels, blocks_of(piece.count) - 1) >= is_full)
    union_[words - 1] &= last_word(piece.count);
  return {union_.data(), words};
}

class TwoLevelIndex final : public UnionIndex {
 public:
  explicit TwoLevelIndex(const IndexSetup& setup) : levels_(setup), bits_(setup, levels_) {}

  [[nodiscard]] std::span<Round* const> rounds() override { return rounds_; }
  void reserve(std::size_t longest_piece) override { bits_.reserve(longest_piece); }
  ConstPayload bits_of(const Piece& piece) override { return bits_.bits_of(piece); }

 private:
  LevelsRound levels_;
  BlockBitsRound bits_;
  Round* rounds_[2] = {&levels_, &bits_};
};

}  // namespace

std::unique_ptr<UnionIndex> make_two_level_index(const IndexSetup& setup) {
  return std::make_unique<TwoLevelIndex>(setup);
}

}  // namespace cohom
