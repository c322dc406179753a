#include "codecs/sketch/sketch.hpp"

#include "codecs/common/escape_round.hpp"
#include "codecs/common/index/union_bytes.hpp"
#include "codecs/sketch/sketch_cells.hpp"
#include "codecs/sketch/sketch_leftover.hpp"
#include "codecs/sketch/sketch_maximum.hpp"
#include "codecs/sketch/sketch_options.hpp"
#include "kernels/core/body/random.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace cohom {
namespace {

using kernels::body::Stream;

/// Elements that escape together.
constexpr std::size_t escape_block = kernels::sketch_block;

NeededBy index_needed_by(const SketchCells& cells) {
  return cells.by_position() ? NeededBy::decoding : NeededBy::encoding;
}

/// Which blocks of 256 elements have values that no cell holds, a bit each.
class EscapesRound final : public Round {
 public:
  /// `maximum` (null: cells are no integers), `cells` and `call` outlive it.
  EscapesRound(const SketchMaximum* maximum, SketchCells& cells, const CallBuffers& call)
      : Round(
            {.name = "escapes", .merge = {MergeKind::bit_or}, .needed_by = index_needed_by(cells)}),
        maximum_(maximum),
        cells_(cells),
        call_(call) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return (elements + 64 * escape_block - 1) / (64 * escape_block);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Words out) override {
    if (maximum_ != nullptr) maximum_->tell_cells();
    const std::size_t words = capacity(contributions, piece.count);
    cells_.find_unheld(call_.input_at(piece.first), piece.count, out.first(words));
    if (maximum_ != nullptr)
      for (std::size_t b = 0; b * escape_block < piece.count; ++b)
        if (maximum_->exceeds_cells(piece.first / escape_block + b))
          out[b / 64] |= std::uint64_t{1} << b % 64;
    return words;
  }
  [[nodiscard]] ConstWords escapes(const Piece& piece) const { return agreed(piece); }

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
    const EscapesRound& escapes;
    SketchCells& cells;
    EscapedBlocks& escaped;
    SketchLeftover& leftover;
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
    return parts_.cells.most_words(elements);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Words out) override;
  void decode(const Piece& piece, ConstWords sum, std::size_t contributions) override;

 private:
  [[nodiscard]] kernels::SparseRun run_of(std::size_t first, std::size_t count) const {
    return {size_of(type_), first, count};
  }
  [[nodiscard]] SketchCells::Place place_of(const Piece& piece,
                                            const SparseIndex::Union& positions) {
    return {piece, positions, parts_.index.beside_elements(positions, piece)};
  }
  void tell_cells() const {
    if (parts_.maximum != nullptr) parts_.maximum->tell_cells();
  }
  void compact(const SketchCells::Place& place);
  void keep_leftover(const SketchCells::Place& place, ConstWords escapes);
  void expand(const SketchCells::Place& place, ConstWords escapes);

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

std::size_t SketchPayload::encode(std::size_t, const Piece& piece, Words out) {
  tell_cells();
  const SparseIndex::Union positions =
      parts_.cells.by_position() ? parts_.index.own(piece) : parts_.index.union_of(piece);
  const SketchCells::Place place = place_of(piece, positions);
  compact(place);
  return parts_.cells.sketch(place, compacted_.data(), out);
}

/// The rank's own elements.
void SketchPayload::compact(const SketchCells::Place& place) {
  kernels_.sparse.compact(run_of(place.piece.first, place.piece.count),
                          parts_.call.input_at(place.piece.first), place.bits, compacted_.data());
}

void SketchPayload::decode(const Piece& piece, ConstWords sum, std::size_t) {
  tell_cells();
  const SparseIndex::Union positions = parts_.index.union_of(piece);
  if (sum.size() != parts_.cells.words(piece, positions))
    throw Error(ErrorKind::transport, "sketch: a sum of " + std::to_string(sum.size()) +
                                          " words came for " + std::to_string(positions.elements) +
                                          " elements");
  const SketchCells::Place place = place_of(piece, positions);
  const std::size_t left = parts_.cells.recover(place, sum, compacted_.data(), known_.data());
  kernels_.finish_elements(type_, compacted_.data(), positions.elements,
                           parts_.cells.divisor_left(), finished_.data());
  const ConstWords escapes = parts_.escapes.escapes(piece);
  if (left != 0) keep_leftover(place, escapes);
  expand(place, escapes);
}

/// What did not peel stays as the input has it, because in place that is still to be sent.
void SketchPayload::keep_leftover(const SketchCells::Place& place, ConstWords escapes) {
  compact(place);
  kernels_.sketch.keep_unknown(size_of(type_), known_.data(), place.positions.elements,
                               compacted_.data(), finished_.data());
  parts_.leftover.add(place, known_.data(), escapes);
}

/// Writes the piece's elements, but those of blocks that escaped.
void SketchPayload::expand(const SketchCells::Place& place, ConstWords escapes) {
  const Piece& piece = place.piece;
  const std::size_t blocks = (piece.count + escape_block - 1) / escape_block;
  const auto escaped = [&](std::size_t b) { return (escapes[b / 64] >> b % 64 & 1) != 0; };
  const std::byte* from = finished_.data();
  for (std::size_t b = 0; b < blocks;) {
    std::size_t end = b + 1;
    while (end < blocks && escaped(end) == escaped(b)) ++end;
    const std::size_t first = b * escape_block;
    const std::size_t count = std::min(end * escape_block, piece.count) - first;
    if (escaped(b))
      for (std::size_t i = 0; i < count; i += escape_block)
        parts_.escaped.add(piece.first + first + i, std::min(escape_block, count - i));
    else
      kernels_.sparse.expand(run_of(piece.first + first, count), from, place.bits + first / 64,
                             parts_.call.output_at(piece.first + first));
    from +=
        host_.sparse.count_bits(place.positions.bits + first / 64, kernels::bitmap_words(count)) *
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
        escapes_(maximum_.get(), cells_, call_),
        escape_(context, call_, EscapeRound::Travels::feedback),
        leftover_(context, cells_, call_),
        payload_(context,
                 {index_, maximum_.get(), escapes_, cells_, escape_.blocks(), leftover_, call_}) {
    for (Round* const round : index_.rounds()) add(*round);
    if (maximum_) add(*maximum_);
    add(escapes_);
    add(payload_);
    add(escape_);
    add(leftover_);
  }

  [[nodiscard]] std::size_t block() const override { return escape_block; }
  void reserve(std::size_t elements, std::size_t longest_piece) override {
    index_.reserve(elements, longest_piece);
    cells_.reserve(longest_piece);
    if (maximum_) maximum_->reserve(elements);
    payload_.reserve(longest_piece);
    leftover_.reserve(longest_piece);
  }

 private:
  void start() override {
    index_.start();
    cells_.begin(kernels::body::key(seed_, call_.step, Stream::sketch, 0));
    leftover_.clear();
    escape_.start();
    if (maximum_) maximum_->start();
  }

  std::uint64_t seed_;
  SketchCells cells_;
  SparseIndex index_;
  std::unique_ptr<SketchMaximum> maximum_;
  EscapesRound escapes_;
  EscapeRound escape_;
  SketchLeftover leftover_;
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
  const std::size_t escapes = (query.elements / escape_block + 63) / 64 * 8;
  return CodecBytes{.block = escape_block,
                    .contribution = run,
                    .sum = run,
                    .agreement = of.agreement + escapes + (integers ? 8 : 0)};
}

constexpr CodecSample samples[] = {
    {.spec = "sketch", .clamped = 1e-14, .block_scale = false, .escapes = 256, .shares_step = true},
    {.spec = "sketch:gamma=1.1,index=flat,seed=5",
     .clamped = 1e-14,
     .block_scale = false,
     .escapes = 256,
     .shares_step = true},
    {.spec = "sketch:size=0.3,index=bloom,seed=2",
     .clamped = 1e-14,
     .block_scale = false,
     .escapes = 256,
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
                              complete(device.sketch);
                     },
                 .is = sketch_has_integers,
                 .only = "cells=i64"},
      .samples = samples,
      .bytes = sketch_bytes,
  };
  return row;
}

}  // namespace cohom
