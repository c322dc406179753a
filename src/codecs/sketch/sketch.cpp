#include "codecs/sketch/sketch.hpp"

#include "codecs/common/agreed_value.hpp"
#include "codecs/common/escape_round.hpp"
#include "codecs/sketch/sketch_cells.hpp"
#include "codecs/sketch/sketch_exponent.hpp"
#include "codecs/sketch/sketch_leftover.hpp"
#include "codecs/sketch/sketch_options.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/body/random.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace cohom {
namespace {

using namespace kernels::body;

/// Makes exponents of elements positive numbers; 0 is a rank of zeros.
constexpr int exponent_offset = 1 << 12;
/// Of the least denormal of f32, and of its largest numbers.
constexpr int least_exponent = -149, largest_exponent = 127;

bool is_set(ConstWords bits, std::size_t i) { return (bits[i / 64] >> i % 64 & 1) != 0; }

class SketchCodec final : public Codec {
 public:
  SketchCodec(const CodecContext& context, const SketchOptions& options);

  [[nodiscard]] std::size_t block() const override { return escape_block; }
  [[nodiscard]] std::span<const RoundInfo> rounds() const override { return rounds_; }
  [[nodiscard]] int payload_round() const override { return payload_; }
  [[nodiscard]] std::size_t capacity(int round, Form form, std::size_t elements) const override;
  void reserve(std::size_t elements, std::size_t longest_piece) override;
  void begin(const CallBuffers& call) override;
  std::size_t late_elements(int round, const Agreed& agreed) override;
  std::size_t encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                     Words out) override;
  std::size_t widen(int, const Piece& piece, const Agreed&,
                    std::span<const ConstWords> contributions, Words sum) override {
    return escape_.add(piece, contributions, sum);
  }
  void decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
              std::size_t contributions) override;

 private:
  /// Elements that escape together.
  static constexpr std::size_t escape_block = kernels::sketch_block;

  [[nodiscard]] int maximum_round() const { return escapes_round() - 1; }
  [[nodiscard]] int escapes_round() const { return payload_ - 1; }
  [[nodiscard]] int escaped_round() const { return payload_ + 1; }
  [[nodiscard]] int leftover_round() const { return payload_ + 2; }
  [[nodiscard]] kernels::SparseRun run_of(std::size_t first, std::size_t count) const {
    return {size_of(type_), first, count};
  }

  std::size_t encode_maximum(const Piece& piece, const Agreed& agreed, Words out);
  void find_exponent(const Agreed& agreed);
  std::size_t encode_escapes(const Piece& piece, Words out) const;
  std::size_t encode_cells(const Piece& piece, const Agreed& agreed, Words out);
  void decode_cells(const Piece& piece, const Agreed& agreed, ConstWords sum);
  [[nodiscard]] SketchCells::Place place_of(const Piece& piece,
                                            const SparseIndex::Union& positions) {
    return {piece, positions, index_.beside_elements(positions, piece)};
  }
  void compact(const SketchCells::Place& place);
  void keep_leftover(const SketchCells::Place& place, ConstWords escapes);
  void expand(const SketchCells::Place& place, ConstWords escapes);

  ElementType type_;
  const kernels::KernelTable& kernels_;  ///< of the elements
  const kernels::KernelTable& host_;
  Memory& memory_;
  std::uint64_t seed_;
  SparseIndex index_;
  SketchCells cells_;
  SketchExponent exponent_;  ///< of vectors of the host
  std::size_t elements_ = 0;
  std::vector<RoundInfo> rounds_;
  int payload_;
  EscapeRound escape_;
  SketchLeftover leftover_;

  // Of one piece.
  MemoryArray<std::byte> compacted_, finished_;  ///< the union's elements
  MemoryArray<std::uint8_t> known_;              ///< of them, what peeled

  // Of the call in flight.
  CallBuffers call_;
  int own_exponent_ = 0;
};

SketchCodec::SketchCodec(const CodecContext& context, const SketchOptions& options)
    : type_(context.type),
      kernels_(context.kernels),
      host_(context.on_host()),
      memory_(context.memory),
      seed_(options.seed),
      index_(context, options.index, "sketch"),
      cells_(context, options),
      exponent_(context.type, static_cast<std::uint32_t>(context.ranks), host_),
      rounds_(index_.rounds().begin(), index_.rounds().end()),
      escape_(context),
      leftover_(context, cells_) {
  if (cells_.are_integers())
    rounds_.push_back({.name = "maximum", .merge = {MergeKind::max}, .scope = RoundScope::vector});
  rounds_.push_back({.name = "escapes", .merge = {MergeKind::bit_or}});
  payload_ = static_cast<int>(rounds_.size());
  rounds_.push_back({.name = "payload", .merge = cells_.merge(), .varies = !cells_.by_position()});
  if (cells_.by_position())
    for (RoundInfo& round : std::span(rounds_).first(std::size_t(payload_)))
      round.for_decoding = round.scope == RoundScope::piece;
  rounds_.push_back(EscapeRound::info(type_));
  rounds_.push_back({.name = "leftover",
                     .merge = cells_.merge(),
                     .scope = RoundScope::late,
                     .after_payload = true,
                     .algorithm = "direct"});
}

std::size_t SketchCodec::capacity(int round, Form, std::size_t elements) const {
  if (round == payload_) return cells_.most_words(elements);
  if (round == leftover_round()) return cells_.words_of_cells(elements);
  if (round > payload_) return escape_.capacity(elements);
  if (round == escapes_round()) return (elements + 64 * escape_block - 1) / (64 * escape_block);
  if (cells_.are_integers() && round == maximum_round()) return elements == 0 ? 0 : 1;
  return index_.capacity(round, elements);
}

void SketchCodec::reserve(std::size_t elements, std::size_t longest_piece) {
  index_.reserve(elements, longest_piece);
  cells_.reserve(longest_piece);
  elements_ = elements;
  if (cells_.are_integers() && memory_.is_host()) exponent_.reserve(elements);
  compacted_ = {memory_, longest_piece * size_of(type_)};
  finished_ = {memory_, longest_piece * size_of(type_)};
  known_ = {memory_, longest_piece};
  leftover_.reserve(longest_piece);
}

void SketchCodec::begin(const CallBuffers& call) {
  call_ = call;
  index_.begin(call);
  cells_.begin(key(seed_, call.step, Stream::sketch, 0));
  leftover_.clear();
  escape_.blocks().clear();
  own_exponent_ = 0;
  exponent_.begin();
}

/// Before anything is made a cell.
void SketchCodec::find_exponent(const Agreed& agreed) {
  if (!cells_.are_integers()) return;
  const std::uint64_t maximum = agreed.words(maximum_round(), agreed.pieces()[0])[0];
  if (maximum != 0 &&
      (maximum < exponent_offset + least_exponent || maximum > exponent_offset + largest_exponent))
    refuse_agreed("sketch", "maximum", maximum,
                  "0, or " + std::to_string(exponent_offset + least_exponent) + " to " +
                      std::to_string(exponent_offset + largest_exponent));
  // Larger numbers than the bound have no integer.
  if (maximum < static_cast<std::uint64_t>(own_exponent_))
    refuse_agreed("sketch", "maximum", maximum, "this rank alone " + std::to_string(own_exponent_));
  cells_.agree_on(maximum == 0 ? 0 : static_cast<int>(maximum) - exponent_offset);
}

/// For every piece in order, into the same word. On a device the largest number decides.
std::size_t SketchCodec::encode_maximum(const Piece& piece, const Agreed& agreed, Words out) {
  if (memory_.is_host()) {
    exponent_.measure(call_.input_at(piece.first), piece.first, piece.count);
    if (piece.index + 1 != agreed.pieces().size()) return 1;
    const int best = exponent_.best(call_.input_at(0), elements_);
    own_exponent_ = best == SketchExponent::none ? 0 : best + exponent_offset;
    out[0] = static_cast<std::uint64_t>(own_exponent_);
    return 1;
  }
  const std::uint32_t largest =
      kernels_.sketch.largest(type_, call_.input_at(piece.first), piece.count);
  if (largest != 0)
    own_exponent_ = std::max(own_exponent_, floor_log2<float>(largest) + exponent_offset);
  out[0] = static_cast<std::uint64_t>(own_exponent_);
  return 1;
}

std::size_t SketchCodec::encode_escapes(const Piece& piece, Words out) const {
  const std::size_t words = capacity(escapes_round(), Form::wide, piece.count);
  cells_.find_unheld(call_.input_at(piece.first), piece.count, out.first(words));
  if (cells_.are_integers() && memory_.is_host())
    for (std::size_t b = 0; b * escape_block < piece.count; ++b)
      if (exponent_.exceeds(piece.first / escape_block + b, cells_.exponent()))
        out[b / 64] |= std::uint64_t{1} << b % 64;
  return words;
}

std::size_t SketchCodec::encode(int round, Form, const Piece& piece, const Agreed& agreed,
                                Words out) {
  if (round < escapes_round()) {
    if (cells_.are_integers() && round == maximum_round())
      return encode_maximum(piece, agreed, out);
    return index_.encode(round, piece, agreed, out);
  }
  if (round == escaped_round()) return escape_.encode(piece, call_.input, nullptr, out);
  find_exponent(agreed);
  if (round == escapes_round()) return encode_escapes(piece, out);
  if (round == payload_) return encode_cells(piece, agreed, out);
  return leftover_.encode(piece, call_.input, out);
}

std::size_t SketchCodec::encode_cells(const Piece& piece, const Agreed& agreed, Words out) {
  const SparseIndex::Union positions =
      cells_.by_position() ? index_.own(piece) : index_.union_of(piece, agreed);
  const SketchCells::Place place = place_of(piece, positions);
  compact(place);
  return cells_.sketch(place, compacted_.data(), out);
}

/// The rank's own elements.
void SketchCodec::compact(const SketchCells::Place& place) {
  kernels_.sparse.compact(run_of(place.piece.first, place.piece.count),
                          call_.input_at(place.piece.first), place.bits, compacted_.data());
}

void SketchCodec::decode_cells(const Piece& piece, const Agreed& agreed, ConstWords sum) {
  const SparseIndex::Union positions = index_.union_of(piece, agreed);
  if (sum.size() != cells_.words(piece, positions))
    throw Error(ErrorKind::transport, "sketch: a sum of " + std::to_string(sum.size()) +
                                          " words came for " + std::to_string(positions.elements) +
                                          " elements");
  const SketchCells::Place place = place_of(piece, positions);
  const std::size_t left = cells_.recover(place, sum, compacted_.data(), known_.data());
  kernels_.finish_elements(type_, compacted_.data(), positions.elements, cells_.divisor_left(),
                           finished_.data());
  const ConstWords escapes = agreed.words(escapes_round(), piece);
  if (left != 0) keep_leftover(place, escapes);
  expand(place, escapes);
}

/// What did not peel stays as the input has it, because in place that is still to be sent.
void SketchCodec::keep_leftover(const SketchCells::Place& place, ConstWords escapes) {
  compact(place);
  kernels_.sketch.keep_unknown(size_of(type_), known_.data(), place.positions.elements,
                               compacted_.data(), finished_.data());
  leftover_.add(place, known_.data(), escapes);
}

/// Writes the piece's elements, but those of blocks that escaped.
void SketchCodec::expand(const SketchCells::Place& place, ConstWords escapes) {
  const Piece& piece = place.piece;
  const std::size_t blocks = (piece.count + escape_block - 1) / escape_block;
  const auto escaped = [&](std::size_t b) { return is_set(escapes, b); };
  const std::byte* from = finished_.data();
  for (std::size_t b = 0; b < blocks;) {
    std::size_t end = b + 1;
    while (end < blocks && escaped(end) == escaped(b)) ++end;
    const std::size_t first = b * escape_block;
    const std::size_t count = std::min(end * escape_block, piece.count) - first;
    if (escaped(b))
      for (std::size_t i = 0; i < count; i += escape_block)
        escape_.blocks().add(piece.first + first + i, std::min(escape_block, count - i));
    else
      kernels_.sparse.expand(run_of(piece.first + first, count), from, place.bits + first / 64,
                             call_.output_at(piece.first + first));
    from +=
        host_.sparse.count_bits(place.positions.bits + first / 64, kernels::bitmap_words(count)) *
        size_of(type_);
    b = end;
  }
}

std::size_t SketchCodec::late_elements(int round, const Agreed&) {
  return round == leftover_round() ? leftover_.finish() : escape_.blocks().finish();
}

void SketchCodec::decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
                         std::size_t) {
  if (round == escaped_round()) return escape_.decode(piece, sum, call_.output);
  find_exponent(agreed);
  if (round == payload_) return decode_cells(piece, agreed, sum);
  leftover_.decode(piece, sum, call_.output);
}

}  // namespace

std::unique_ptr<Codec> make_sketch(const CodecContext& context) {
  return std::make_unique<SketchCodec>(context,
                                       parse_sketch_options(context.parameters, context.type));
}

}  // namespace cohom
