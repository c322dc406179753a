#pragma once
// CompactedCodec: another codec on what is left of a vector without the elements that are zero on
// every rank. The wire is specified in docs/wire-format.md, "sparse+thc".
//
// SparseIndex's rounds come first, then those of the inner codec. Each *unit*, a fixed number of
// elements of the vector, is compacted by itself and is a piece of the inner codec, which starts
// where the unit does: what the inner codec sees does not depend on chunks and segments, nor do its
// draws.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/common/index/sparse_index.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace cohom {

/// The units of a vector, and the elements that they were compacted to.
class CompactedUnits {
 public:
  /// A unit as the inner codec's piece (empty: it has no values), and the piece that it is part of.
  struct Unit {
    Piece inner;
    Piece outer;
  };

  /// Elements of a unit that has at least `shortest`.
  static std::size_t length(std::size_t shortest);

  /// Each of at least `shortest` elements. `index` and `call` outlive it.
  CompactedUnits(const CodecContext& context, std::size_t shortest, SparseIndex& index,
                 const CallBuffers& call);
  CompactedUnits(const CompactedUnits&) = delete;
  CompactedUnits& operator=(const CompactedUnits&) = delete;

  /// Elements of a unit.
  [[nodiscard]] std::size_t unit() const { return unit_; }
  void reserve(std::size_t elements);
  [[nodiscard]] void* compacted() { return compacted_.data(); }
  /// All units, as the inner codec's pieces.
  [[nodiscard]] std::span<const Piece> inner_pieces() const { return inner_pieces_; }
  [[nodiscard]] std::span<const Unit> units_of(const Piece& piece) const;
  [[nodiscard]] const Unit& unit_of(const Piece& inner) const { return units_[inner.index]; }

  /// Makes the units of a piece, and compacts them.
  void compact(const Piece& piece);
  /// Writes the piece of the output.
  void expand(const Piece& piece);

 private:
  [[nodiscard]] kernels::SparseRun run_of(const Unit& unit) const;
  [[nodiscard]] std::byte* compacted_at(std::size_t element) {
    return compacted_.data() + element * size_of(type_);
  }

  ElementType type_;
  const kernels::SparseKernels& kernels_;  ///< of the elements
  const kernels::SparseKernels& host_;
  Memory& memory_;
  std::size_t unit_;
  SparseIndex& index_;
  const CallBuffers& call_;
  std::size_t elements_ = 0;          ///< of the vector
  MemoryArray<std::byte> compacted_;  ///< each unit's values where the unit begins
  std::vector<Unit> units_;           ///< of the vector
  std::vector<Piece> inner_pieces_;
};

class CompactedCodec final : public Codec {
 public:
  /// The inner codec keeps no state, its rounds have scope `piece` or are fallback rounds and do
  /// not wait for the payload, any of its pieces may be ragged or empty, and it works in place.
  CompactedCodec(const CodecContext& context, const IndexOptions& index,
                 std::unique_ptr<Codec> inner);

  [[nodiscard]] std::size_t block() const override { return units_.unit(); }
  void reserve(std::size_t elements, std::size_t longest_piece) override;
  [[nodiscard]] std::size_t device_scratch(std::size_t elements, std::size_t) const override {
    return inner_->device_scratch(elements, units_.unit());
  }

 private:
  void start() override;

  std::unique_ptr<Codec> inner_;
  SparseIndex index_;
  CompactedUnits units_;
  std::vector<std::unique_ptr<Round>> rounds_;  ///< around the inner codec's
};

}  // namespace cohom
