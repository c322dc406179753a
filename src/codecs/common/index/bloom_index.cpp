#include "codecs/common/agreed_value.hpp"
#include "codecs/common/index/union_index.hpp"
#include "kernels/core/body/random.hpp"

#include <algorithm>
#include <string>

namespace cohom {
namespace {

using kernels::bitmap_words;
using kernels::BloomShape;

class ValuesRound final : public Round {
 public:
  explicit ValuesRound(const IndexSetup& setup)
      : Round({.name = "values", .merge = {MergeKind::add}, .needed_by = setup.needed_by}),
        codec_(setup.codec),
        ranks_(static_cast<std::uint64_t>(setup.context.ranks)),
        host_(setup.context.on_host().sparse),
        own_(setup.own) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t) const override { return 1; }
  std::size_t encode(std::size_t, const Piece& piece, Payload out) override {
    own_.scan(piece);
    out[0] = host_.count_bits(own_.bits(piece), bitmap_words(piece.count));
    return 1;
  }
  /// All ranks' values, those at one position counted more than once.
  [[nodiscard]] std::uint64_t values(const Piece& piece) const {
    const std::uint64_t values = agreed(piece)[0];
    if (values > ranks_ * piece.count)
      refuse_agreed(codec_, "values", values, "up to " + std::to_string(ranks_ * piece.count));
    return values;
  }

 private:
  std::string_view codec_;
  std::uint64_t ranks_;
  const kernels::SparseKernels& host_;
  OwnPositions& own_;
};

class FilterRound final : public Round {
 public:
  FilterRound(const IndexSetup& setup, const ValuesRound& values)
      : Round(index_traits(setup, PayloadLength::varying)),
        kernels_(setup.context.kernels.bloom),
        host_(setup.context.on_host().bloom),
        memory_(setup.context.memory),
        probes_(setup.options.probes),
        codec_(setup.codec),
        call_(setup.call),
        own_(setup.own),
        values_(values) {}

  void reserve(std::size_t longest_piece) {
    if (!memory_.is_host()) filter_ = {memory_, bitmap_words(longest_piece)};
  }
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return bitmap_words(elements);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  [[nodiscard]] ConstPayload bits_of(const Piece& piece);

 private:
  [[nodiscard]] BloomShape shape_of(const Piece& piece) const;
  void search(const BloomShape& shape, const Piece& piece, ConstPayload filter);

  const kernels::BloomKernels& kernels_;  ///< of the elements
  const kernels::BloomKernels& host_;
  Memory& memory_;
  std::uint32_t probes_;
  std::string_view codec_;
  const CallBuffers& call_;
  OwnPositions& own_;
  const ValuesRound& values_;
  MemoryArray<std::uint64_t> filter_;  ///< of one piece, where bits are no neighbours of elements
};

/// The filter of as many values as all ranks have, no bits where a bitmap is no longer. A filter
/// has the fewest false positives for its size when half of its bits are set: 1 / ln 2 bits a probe
/// and value.
BloomShape FilterRound::shape_of(const Piece& piece) const {
  constexpr std::uint64_t bits_a_probe = 94549;  // 2^16 / ln 2
  const std::uint64_t values = values_.values(piece);
  const std::uint64_t most = 64 * bitmap_words(piece.count);
  BloomShape shape{.probes = probes_,
                   .key = kernels::body::key(0, call_.step, kernels::body::Stream::bloom, 0)};
  if (values >= most) return shape;  // and no product below overflows
  const std::uint64_t bits = (values * probes_ * bits_a_probe >> 16) + 64;
  if (bits < most) shape.bits = static_cast<std::uint32_t>(bits / 64 * 64);
  return shape;
}

std::size_t FilterRound::encode(std::size_t, const Piece& piece, Payload out) {
  const BloomShape shape = shape_of(piece);
  const std::size_t bitmap = bitmap_words(piece.count);
  if (shape.bits == 0) {
    std::copy_n(own_.bits(piece), bitmap, out.data());
    return bitmap;
  }
  const std::size_t words = shape.bits / 64;
  if (memory_.is_host()) {
    std::fill_n(out.data(), words, 0u);
    host_.insert(shape, piece.first, own_.bits(piece), piece.count, out.data());
    return words;
  }
  const std::uint64_t* const beside = own_.beside_elements(own_.bits(piece), piece);
  memory_.zero(filter_.data(), words * 8);
  kernels_.insert(shape, piece.first, beside, piece.count, filter_.data());
  memory_.to_host(out.data(), filter_.data(), words * 8);
  return words;
}

/// The bitmap of a piece from its filter, which is searched once a call.
ConstPayload FilterRound::bits_of(const Piece& piece) {
  const ConstPayload words = agreed(piece);
  const BloomShape shape = shape_of(piece);
  const std::size_t bitmap = bitmap_words(piece.count);
  if (words.size() != (shape.bits == 0 ? bitmap : shape.bits / 64)) refuse_index(codec_);
  if (shape.bits == 0) return words;
  if (own_.becomes_union(piece)) search(shape, piece, words);
  return {own_.bits(piece), bitmap};
}

/// Where the elements are: a search is more work than the way there and back.
void FilterRound::search(const BloomShape& shape, const Piece& piece, ConstPayload filter) {
  if (memory_.is_host())
    return host_.find(shape, filter.data(), piece.first, piece.count, own_.bits(piece));
  memory_.from_host(filter_.data(), filter.data(), filter.size_bytes());
  std::uint64_t* const found = own_.scratch_beside_elements();
  kernels_.find(shape, filter_.data(), piece.first, piece.count, found);
  memory_.to_host(own_.bits(piece), found, bitmap_words(piece.count) * 8);
}

class BloomIndex final : public UnionIndex {
 public:
  explicit BloomIndex(const IndexSetup& setup) : values_(setup), filter_(setup, values_) {}

  [[nodiscard]] std::span<Round* const> rounds() override { return rounds_; }
  void reserve(std::size_t longest_piece) override { filter_.reserve(longest_piece); }
  ConstPayload bits_of(const Piece& piece) override { return filter_.bits_of(piece); }

 private:
  ValuesRound values_;
  FilterRound filter_;
  Round* rounds_[2] = {&values_, &filter_};
};

}  // namespace

std::unique_ptr<UnionIndex> make_bloom_index(const IndexSetup& setup) {
  return std::make_unique<BloomIndex>(setup);
}

}  // namespace cohom
