#include "codecs/common/index/sparse_index.hpp"

#include <cohom/error.hpp>

#include <string>
#include <utility>

namespace cohom {

using kernels::bitmap_words;

RoundTraits index_traits(const IndexSetup& setup, PayloadLength length) {
  return {.name = "index",
          .merge = {MergeKind::bit_or},
          .length = length,
          .needed_by = setup.needed_by,
          .algorithm = RoundAlgorithm::as_payload};
}

void refuse_index(std::string_view codec) {
  throw Error(ErrorKind::transport, std::string(codec) +
                                        ": round \"index\" agreed on an index that does not fit "
                                        "its vector; a message was changed on its way");
}

namespace {

std::unique_ptr<UnionIndex> make_index(const IndexSetup& setup) {
  switch (setup.options.form) {
    case IndexForm::two_level: return make_two_level_index(setup);
    case IndexForm::bloom: return make_bloom_index(setup);
    default: return make_flat_index(setup);
  }
}

}  // namespace

SparseIndex::SparseIndex(const CodecContext& context, const IndexOptions& options,
                         std::string_view codec, const CallBuffers& call, NeededBy needed_by,
                         std::function<void()> before_scan)
    : host_(context.on_host().sparse),
      codec_(codec),
      own_(context, call, std::move(before_scan)),
      form_(make_index({context, options, codec, call, own_, needed_by})) {}

void SparseIndex::reserve(std::size_t elements, std::size_t longest_piece) {
  own_.reserve(elements, longest_piece);
  form_->reserve(longest_piece);
}

SparseIndex::Union SparseIndex::own(const Piece& piece) {
  own_.scan(piece);
  const std::uint64_t* const bits = own_.bits(piece);
  return {bits, host_.count_bits(bits, bitmap_words(piece.count))};
}

SparseIndex::Union SparseIndex::union_of(const Piece& piece) {
  const ConstPayload bits = form_->bits_of(piece);
  // A bit behind the last element would be a value that has no place.
  if (const std::size_t used = piece.count % 64; used != 0 && bits.back() >> used != 0)
    refuse_index(codec_);
  return {bits.data(), host_.count_bits(bits.data(), bits.size())};
}

}  // namespace cohom
