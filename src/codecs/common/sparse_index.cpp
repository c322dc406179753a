#include "codecs/common/sparse_index.hpp"

#include <cohom/error.hpp>
#include "codecs/common/agreed_value.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace cohom {
namespace {

using kernels::bitmap_words;

constexpr std::size_t block_words = SparseIndex::block / 64;
constexpr std::size_t blocks_a_word = 32;  // two bits each

std::size_t blocks_of(std::size_t elements) {
  return elements / SparseIndex::block + (elements % SparseIndex::block != 0);
}

/// Bits of the last word of so many elements.
std::uint64_t last_word(std::size_t elements) {
  return elements % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << elements % 64) - 1;
}

/// What the words of the upper level, two bits a block, say of a block.
std::uint64_t level_of(ConstWords upper, std::size_t block) {
  return upper[block / blocks_a_word] >> (block % blocks_a_word * 2) & 3;
}

/// Calls visit(block, its first word in the bitmap, its words) for each block of a piece.
template <class Visit>
void for_each_block(std::size_t elements, Visit&& visit) {
  const std::size_t words = bitmap_words(elements);
  for (std::size_t b = 0; b < blocks_of(elements); ++b)
    visit(b, b * block_words, std::min(block_words, words - b * block_words));
}

[[noreturn]] void refuse(std::string_view codec) {
  throw Error(ErrorKind::transport, std::string(codec) +
                                        ": round \"index\" agreed on an index that does not fit "
                                        "its vector; a message was changed on its way");
}

}  // namespace

SparseIndex::SparseIndex(const CodecContext& context, const IndexOptions& options,
                         std::string_view codec)
    : type_(context.type),
      kernels_(context.kernels),
      host_(context.on_host()),
      memory_(context.memory),
      options_(options),
      codec_(codec),
      ranks_(static_cast<std::uint64_t>(context.ranks)) {
  rounds_[0] = {.name = "blocks", .merge = {MergeKind::bit_or}};
  if (options.form == IndexForm::bloom) rounds_[0] = {.name = "values", .merge = {MergeKind::add}};
  // A bit an element is much: it takes the way of the payload.
  rounds_[lower_round()] = {.name = "index",
                            .merge = {MergeKind::bit_or},
                            .varies = options.form != IndexForm::flat,
                            .large = true};
}

std::span<const RoundInfo> SparseIndex::rounds() const {
  return std::span(rounds_).first(std::size_t(lower_round()) + 1);
}

std::size_t SparseIndex::capacity(int round, std::size_t elements) const {
  if (round == lower_round()) return bitmap_words(elements);
  if (options_.form == IndexForm::bloom) return 1;
  return (blocks_of(elements) + blocks_a_word - 1) / blocks_a_word;
}

void SparseIndex::reserve(std::size_t elements, std::size_t longest_piece) {
  own_.resize(bitmap_words(elements));
  union_.resize(bitmap_words(longest_piece));
  held_.resize(elements / 256 + 1);
  if (memory_.is_host()) return;
  beside_elements_ = {memory_, bitmap_words(longest_piece)};
  if (options_.form == IndexForm::bloom) filter_ = {memory_, bitmap_words(longest_piece)};
}

void SparseIndex::begin(const CallBuffers& call) {
  call_ = call;
  std::ranges::fill(held_, Held::nothing);
}

void SparseIndex::scan(const Piece& piece) {
  if (held(piece) != Held::nothing) return;
  held(piece) = Held::own_bits;
  const kernels::SparseRun run{size_of(type_), piece.first, piece.count};
  const bool apart = !memory_.is_host();
  std::uint64_t* const bits = apart ? beside_elements_.data() : own_bits(piece);
  kernels_.sparse.scan(run, call_.input_at(piece.first), bits);
  if (apart) memory_.to_host(own_bits(piece), bits, bitmap_words(piece.count) * 8);
}

const std::uint64_t* SparseIndex::beside_elements(const Union& positions, const Piece& piece) {
  if (memory_.is_host()) return positions.bits;
  memory_.from_host(beside_elements_.data(), positions.bits, bitmap_words(piece.count) * 8);
  return beside_elements_.data();
}

SparseIndex::Union SparseIndex::own(const Piece& piece) {
  scan(piece);
  return {own_bits(piece), host_.sparse.count_bits(own_bits(piece), bitmap_words(piece.count))};
}

std::size_t SparseIndex::encode(int round, const Piece& piece, const Agreed& agreed, Words out) {
  if (round == 0) scan(piece);
  std::uint64_t* const bits = own_bits(piece);
  if (options_.form == IndexForm::bloom) {
    if (round != 0) return encode_filter(piece, agreed, out);
    out[0] = own(piece).elements;
    return 1;
  }
  if (options_.form == IndexForm::flat) {
    std::copy_n(bits, bitmap_words(piece.count), out.data());
    return bitmap_words(piece.count);
  }
  if (round == 0) return encode_blocks(piece, out);
  const ConstWords upper = agreed.words(0, piece);
  std::uint64_t* next = out.data();
  for_each_block(piece.count, [&](std::size_t b, std::size_t first, std::size_t words) {
    if (level_of(upper, b) == has_values) next = std::copy_n(bits + first, words, next);
  });
  return static_cast<std::size_t>(next - out.data());
}

std::size_t SparseIndex::encode_blocks(const Piece& piece, Words out) {
  const std::size_t size = capacity(0, piece.count);
  const std::uint64_t* const own = own_bits(piece);
  std::fill_n(out.data(), size, 0u);
  for_each_block(piece.count, [&](std::size_t b, std::size_t first, std::size_t words) {
    const std::size_t elements = std::min(block, piece.count - b * block);
    const std::size_t values = host_.sparse.count_bits(own + first, words);
    // The zeros of a full block travel as values; its index does not.
    const bool full = (elements - values) * size_of(type_) < words * 8;
    const std::uint64_t level = values == 0 ? 0u : std::uint64_t{full ? is_full : has_values};
    out[b / blocks_a_word] |= level << (b % blocks_a_word * 2);
  });
  return size;
}

/// The filter of as many values as all ranks have, no bits where a bitmap is no longer. A filter has the
/// fewest false positives for its size when half of its bits are set: 1 / ln 2 bits a probe and value.
kernels::BloomShape SparseIndex::filter_of(const Piece& piece, const Agreed& agreed) const {
  constexpr std::uint64_t bits_a_probe = 94549;  // 2^16 / ln 2
  const std::uint64_t values = agreed.words(0, piece)[0];
  if (values > ranks_ * piece.count)
    refuse_agreed(codec_, "values", values, "up to " + std::to_string(ranks_ * piece.count));
  const std::uint64_t most = 64 * bitmap_words(piece.count);
  kernels::BloomShape shape{
      .probes = options_.probes,
      .key = kernels::body::key(0, call_.step, kernels::body::Stream::bloom, 0)};
  if (values >= most) return shape;  // and no product below overflows
  const std::uint64_t bits = (values * options_.probes * bits_a_probe >> 16) + 64;
  if (bits < most) shape.bits = static_cast<std::uint32_t>(bits / 64 * 64);
  return shape;
}

std::size_t SparseIndex::encode_filter(const Piece& piece, const Agreed& agreed, Words out) {
  const kernels::BloomShape shape = filter_of(piece, agreed);
  if (shape.bits == 0) {
    std::copy_n(own_bits(piece), bitmap_words(piece.count), out.data());
    return bitmap_words(piece.count);
  }
  const std::size_t words = shape.bits / 64;
  if (memory_.is_host()) {
    std::fill_n(out.data(), words, 0u);
    host_.bloom.insert(shape, piece.first, own_bits(piece), piece.count, out.data());
    return words;
  }
  memory_.from_host(beside_elements_.data(), own_bits(piece), bitmap_words(piece.count) * 8);
  memory_.zero(filter_.data(), words * 8);
  kernels_.bloom.insert(shape, piece.first, beside_elements_.data(), piece.count, filter_.data());
  memory_.to_host(out.data(), filter_.data(), words * 8);
  return words;
}

/// The bitmap of a piece from its filter, which is searched once a call.
ConstWords SparseIndex::find(const Piece& piece, const Agreed& agreed) {
  const ConstWords words = agreed.words(1, piece);
  const kernels::BloomShape shape = filter_of(piece, agreed);
  if (words.size() != (shape.bits == 0 ? bitmap_words(piece.count) : shape.bits / 64))
    refuse(codec_);
  if (shape.bits == 0) return words;
  if (std::exchange(held(piece), Held::union_of_all) != Held::union_of_all)
    search(shape, piece, words);
  return {own_bits(piece), bitmap_words(piece.count)};
}

/// Where the elements are: a search is more work than the way there and back.
void SparseIndex::search(const kernels::BloomShape& shape, const Piece& piece, ConstWords filter) {
  if (memory_.is_host())
    return host_.bloom.find(shape, filter.data(), piece.first, piece.count, own_bits(piece));
  memory_.from_host(filter_.data(), filter.data(), filter.size_bytes());
  kernels_.bloom.find(shape, filter_.data(), piece.first, piece.count, beside_elements_.data());
  memory_.to_host(own_bits(piece), beside_elements_.data(), bitmap_words(piece.count) * 8);
}

/// The bitmap of a piece from its two levels.
ConstWords SparseIndex::spread(const Piece& piece, const Agreed& agreed) {
  const ConstWords upper = agreed.words(0, piece);
  const ConstWords lower = agreed.words(1, piece);
  std::size_t next = 0;
  for_each_block(piece.count, [&](std::size_t b, std::size_t first, std::size_t words) {
    const std::uint64_t level = level_of(upper, b);
    std::uint64_t* const out = union_.data() + first;
    if (level != has_values) {
      std::fill_n(out, words, level == 0 ? 0 : ~std::uint64_t{0});
      return;
    }
    if (lower.size() - next < words) refuse(codec_);
    std::copy_n(lower.data() + next, words, out);
    next += words;
  });
  if (next != lower.size()) refuse(codec_);
  const std::size_t words = bitmap_words(piece.count);
  if (level_of(upper, blocks_of(piece.count) - 1) >= is_full)
    union_[words - 1] &= last_word(piece.count);
  return {union_.data(), words};
}

SparseIndex::Union SparseIndex::union_of(const Piece& piece, const Agreed& agreed) {
  ConstWords bits;
  switch (options_.form) {
    case IndexForm::flat: bits = agreed.words(0, piece); break;
    case IndexForm::two_level: bits = spread(piece, agreed); break;
    case IndexForm::bloom: bits = find(piece, agreed); break;
  }
  // A bit behind the last element would be a value that has no place.
  if ((bits.back() & ~last_word(piece.count)) != 0) refuse(codec_);
  return {bits.data(), host_.sparse.count_bits(bits.data(), bits.size())};
}

}  // namespace cohom
