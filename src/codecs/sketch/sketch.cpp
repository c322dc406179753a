#include "codecs/sketch/sketch.hpp"

#include "codecs/common/index/union_bytes.hpp"
#include "codecs/common/outlier_round.hpp"
#include "codecs/sketch/sketch_cells.hpp"
#include "codecs/sketch/sketch_maximum.hpp"
#include "codecs/sketch/sketch_options.hpp"
#include "codecs/sketch/sketch_unpeeled.hpp"
#include "kernels/core/body/random.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace cohom {
namespace {

using kernels::body::Stream;

/// Elements that are an outlier together.
constexpr std::size_t outlier_block = kernels::sketch_block;

NeededBy index_needed_by(const SketchCells& cells) {
  return cells.by_position() ? NeededBy::decoding : NeededBy::encoding;
}

/// Which blocks of 256 elements have values that no cell holds, a bit each.
class OutlierBitsRound final : public Round {
 public:
  /// `maximum` (null: cells are no integers), `cells` and `call` outlive it.
  OutlierBitsRound(const SketchMaximum* maximum, SketchCells& cells, const CallBuffers& call)
      : Round(
            {.name = "escapes", .merge = {MergeKind::bit_or}, .needed_by = index_needed_by(cells)}),
        maximum_(maximum),
        cells_(cells),
        call_(call) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return (elements + 64 * outlier_block - 1) / (64 * outlier_block);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override {
    if (maximum_ != nullptr) maximum_->tell_cells();
    const std::size_t words = capacity(contributions, piece.count);
    cells_.find_unheld(call_.input_at(piece.first), piece.count, out.first(words));
    if (maximum_ != nullptr)
      for (std::size_t b = 0; b * outlier_block < piece.count; ++b)
        if (maximum_->exceeds_cells(piece.first / outlier_block + b))
          out[b / 64] |= std::uint64_t{1} << b % 64;
    return words;
  }
  [[nodiscard]] ConstPayload outlier_bits(const Piece& piece) const { return agreed(piece); }

 private:
  const SketchMaximum* maximum_;
  SketchCells& cells_;
  const CallBuffers& call_;
};

class SketchPayload final : public Round {
 public:
  struct Parts {
    SparseIndex& index;
    const SketchMaximum* maximum;  ///< null: cells are no integers
    const OutlierBitsRound& outlier_bits;
    SketchCells& cells;
    OutlierBlocks& outliers;
    SketchUnpeeled& unpeeled;
    const CallBuffers& call;
  };

  /// The parts outlive it.
  SketchPayload(const CodecContext& context, const Parts& parts)
      : Round(
            {.name = "payload",
             .merge = parts.cells.merge(),
             .time = RoundTime::payload,
             .length = parts.cells.by_position() ? PayloadLength::fixed : PayloadLength::varying}),
        type_(context.type),
        kernels_(context.kernels),
        host_(context.on_host()),
        memory_(context.memory),
        parts_(parts) {}

  void reserve(std::size_t longest_piece);
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return parts_.cells.max_words(elements);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  [[nodiscard]] kernels::SparseRun run_of(std::size_t first, std::size_t count) const {
    return {size_of(type_), first, count};
  }
  [[nodiscard]] SketchCells::PieceUnion union_of(const Piece& piece,
                                                 const SparseIndex::Union& positions) {
    return {piece, positions, parts_.index.beside_elements(positions, piece)};
  }
  void tell_cells() const {
    if (parts_.maximum != nullptr) parts_.maximum->tell_cells();
  }
  void compact(const SketchCells::PieceUnion& part);
  void keep_unpeeled(const SketchCells::PieceUnion& part, ConstPayload outlier_bits);
  void expand(const SketchCells::PieceUnion& part, ConstPayload outlier_bits);

  ElementType type_;
  const kernels::KernelTable& kernels_;  ///< of the elements
  const kernels::KernelTable& host_;
  Memory& memory_;
  Parts parts_;

  // Of one piece.
  MemoryArray<std::byte> compacted_, finished_;  ///< the union's elements
  MemoryArray<std::uint8_t> known_;              ///< of them, what peeled
};

void SketchPayload::reserve(std::size_t longest_piece) {
  compacted_ = {memory_, longest_piece * size_of(type_)};
  finished_ = {memory_, longest_piece * size_of(type_)};
  known_ = {memory_, longest_piece};
}

std::size_t SketchPayload::encode(std::size_t, const Piece& piece, Payload out) {
  tell_cells();
  const SparseIndex::Union positions =
      parts_.cells.by_position() ? parts_.index.own(piece) : parts_.index.union_of(piece);
  const SketchCells::PieceUnion part = union_of(piece, positions);
  compact(part);
  return parts_.cells.sketch(part, compacted_.data(), out);
}

/// The rank's own elements.
void SketchPayload::compact(const SketchCells::PieceUnion& part) {
  kernels_.sparse.compact(run_of(part.piece.first, part.piece.count),
                          parts_.call.input_at(part.piece.first), part.bits, compacted_.data());
}

void SketchPayload::decode(const Piece& piece, ConstPayload sum, std::size_t) {
  tell_cells();
  const SparseIndex::Union positions = parts_.index.union_of(piece);
  if (sum.size() != parts_.cells.words(piece, positions))
    throw Error(ErrorKind::transport, "sketch: a sum of " + std::to_string(sum.size()) +
                                          " words came for " + std::to_string(positions.elements) +
                                          " elements");
  const SketchCells::PieceUnion part = union_of(piece, positions);
  const std::size_t left = parts_.cells.recover(part, sum, compacted_.data(), known_.data());
  kernels_.finish_elements(type_, compacted_.data(), positions.elements,
                           parts_.cells.divisor_left(), finished_.data());
  const ConstPayload outlier_bits = parts_.outlier_bits.outlier_bits(piece);
  if (left != 0) keep_unpeeled(part, outlier_bits);
  expand(part, outlier_bits);
}

/// What did not peel stays as the input has it, because in place that is still to be sent.
void SketchPayload::keep_unpeeled(const SketchCells::PieceUnion& part, ConstPayload outlier_bits) {
  compact(part);
  kernels_.sketch.keep_unknown(size_of(type_), known_.data(), part.positions.elements,
                               compacted_.data(), finished_.data());
  parts_.unpeeled.add(part, known_.data(), outlier_bits);
}

/// Writes the piece's elements, but those of blocks that are outliers.
void SketchPayload::expand(const SketchCells::PieceUnion& part, ConstPayload outlier_bits) {
  const Piece& piece = part.piece;
  const std::size_t blocks = (piece.count + outlier_block - 1) / outlier_block;
  const auto is_outlier = [&](std::size_t b) { return (outlier_bits[b / 64] >> b % 64 & 1) != 0; };
  const std::byte* from = finished_.data();
  for (std::size_t b = 0; b < blocks;) {
    std::size_t end = b + 1;
    while (end < blocks && is_outlier(end) == is_outlier(b)) ++end;
    const std::size_t first = b * outlier_block;
    const std::size_t count = std::min(end * outlier_block, piece.count) - first;
    if (is_outlier(b))
      for (std::size_t i = 0; i < count; i += outlier_block)
        parts_.outliers.add(piece.first + first + i, std::min(outlier_block, count - i));
    else
      kernels_.sparse.expand(run_of(piece.first + first, count), from, part.bits + first / 64,
                             parts_.call.output_at(piece.first + first));
    from +=
        host_.sparse.count_bits(part.positions.bits + first / 64, kernels::bitmap_words(count)) *
        size_of(type_);
    b = end;
  }
}

class SketchCodec final : public Codec {
 public:
  SketchCodec(const CodecContext& context, const SketchOptions& options)
      : seed_(options.seed),
        cells_(context, options),
        index_(context, options.index, "sketch", call_, index_needed_by(cells_)),
        maximum_(cells_.are_integers() ? std::make_unique<SketchMaximum>(context, cells_, call_)
                                       : nullptr),
        outlier_bits_(maximum_.get(), cells_, call_),
        outlier_round_(context, call_, OutlierRound::Travels::feedback),
        unpeeled_(context, cells_, call_),
        payload_(context, {index_, maximum_.get(), outlier_bits_, cells_, outlier_round_.blocks(),
                           unpeeled_, call_}) {
    for (Round* const round : index_.rounds()) add(*round);
    if (maximum_) add(*maximum_);
    add(outlier_bits_);
    add(payload_);
    add(outlier_round_);
    add(unpeeled_);
  }

  [[nodiscard]] std::size_t block() const override { return outlier_block; }
  void reserve(std::size_t elements, std::size_t longest_piece) override {
    index_.reserve(elements, longest_piece);
    cells_.reserve(longest_piece);
    if (maximum_) maximum_->reserve(elements);
    payload_.reserve(longest_piece);
    unpeeled_.reserve(longest_piece);
  }

 private:
  void start() override {
    index_.start();
    cells_.begin(kernels::body::key(seed_, call_.step, Stream::sketch, 0));
    unpeeled_.clear();
    outlier_round_.start();
    if (maximum_) maximum_->start();
  }

  std::uint64_t seed_;
  SketchCells cells_;
  SparseIndex index_;
  std::unique_ptr<SketchMaximum> maximum_;
  OutlierBitsRound outlier_bits_;
  OutlierRound outlier_round_;
  SketchUnpeeled unpeeled_;
  SketchPayload payload_;
};

/// The maximum of integer cells, and a bit for each block of 256, are agreed on as well.
std::optional<CodecBytes> sketch_bytes(const BytesQuery& query) {
  if (!query.shape || query.elements == 0) return std::nullopt;
  const Parameters& given = query.parameters;
  const bool wide = query.type == ElementType::f64;
  const bool integers = !wide && text_of(given, "cells", "i64") == "i64";
  const std::string size = text_of(given, "size", "auto");
  const UnionBytes of = union_bytes(given, *query.shape);
  const double cells =
      size != "auto" ? fraction_of(size) : fraction_of(text_of(given, "gamma", "1.3")) * of.values;
  const RunBytes run = evenly(of.index + cells * (integers || wide ? 8 : 4));
  const std::size_t outlier_bits = (query.elements / outlier_block + 63) / 64 * 8;
  return CodecBytes{.block = outlier_block,
                    .contribution = run,
                    .sum = run,
                    .agreement = of.agreement + outlier_bits + (integers ? 8 : 0)};
}

constexpr CodecSample samples[] = {{.spec = "sketch",
                                    .clamped = 1e-14,
                                    .block_scale = false,
                                    .outlier_elements = 256,
                                    .shares_step = true},
                                   {.spec = "sketch:gamma=1.1,index=flat,seed=5",
                                    .clamped = 1e-14,
                                    .block_scale = false,
                                    .outlier_elements = 256,
                                    .shares_step = true},
                                   {.spec = "sketch:size=0.3,index=bloom,seed=2",
                                    .clamped = 1e-14,
                                    .block_scale = false,
                                    .outlier_elements = 256,
                                    .shares_step = true}};

}  // namespace

std::unique_ptr<Codec> make_sketch(const CodecContext& context) {
  return std::make_unique<SketchCodec>(context,
                                       parse_sketch_options(context.parameters, context.type));
}

const CodecRow& sketch_codec() {
  static const CodecRow row{
      .info = {"sketch", "the same as a count sketch that is peeled: adds in the network, lossless",
               sketch_parameters()},
      .make = make_sketch,
      .device = {.has_kernels =
                     [](const kernels::KernelTable& device) {
                       return complete(device.sparse) && complete(device.bloom) &&
                              complete(device.sketch) &&
                              device.blocks.of<kernels::body::SketchLargest>().complete() &&
                              device.blocks.of<kernels::body::SketchHeld>().complete();
                     },
                 .is = sketch_has_integers,
                 .only = "cells=i64"},
      .samples = samples,
      .bytes = sketch_bytes,
  };
  return row;
}

}  // namespace cohom
