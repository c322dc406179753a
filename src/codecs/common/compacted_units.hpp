#pragma once
// CompactedUnits: the elements of a vector that are not zero on some rank, unit by unit.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/common/index/sparse_index.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

/// The units of a vector, and the elements that they were compacted to.
class CompactedUnits {
 public:
  /// A unit as the inner codec's piece (empty: it has no values), and the piece that it is part of.
  struct Unit {
    Piece inner;
    Piece outer;
    bool known = false;  ///< in the call in flight
  };

  /// Elements of a unit that has at least `shortest`.
  static std::size_t length(std::size_t shortest);

  /// Each of at least `shortest` elements. `index` and `call` outlive it.
  CompactedUnits(const CodecContext& context, std::size_t shortest, SparseIndex& index,
                 const CallBuffers& call);
  CompactedUnits(const CompactedUnits&) = delete;
  CompactedUnits& operator=(const CompactedUnits&) = delete;

  /// Elements of a unit.
  [[nodiscard]] std::size_t unit_length() const { return unit_length_; }
  /// `unfinished_words`: most that are set aside.
  void reserve(std::size_t elements, std::size_t unfinished_words);
  [[nodiscard]] void* compacted() { return compacted_.data(); }
  /// All units, as the inner codec's pieces.
  [[nodiscard]] std::span<const Piece> inner_pieces() const { return inner_pieces_; }
  [[nodiscard]] std::span<const Unit> units_of(const Piece& piece) const;
  [[nodiscard]] const Unit& unit_of(const Piece& inner) const { return units_[inner.index]; }

  /// A call begins.
  void start();
  /// Makes the units of a piece, and compacts them.
  void compact(const Piece& piece);
  /// Makes them where this rank has no elements to compact, and only decodes.
  void know(const Piece& piece) {
    if (!units_of(piece).front().known) find(piece, index_.union_of(piece));
  }
  /// Writes the piece of the output.
  void expand(const Piece& piece);

  /// Copies words of a piece, until the next call of it.
  [[nodiscard]] ConstPayload set_aside(ConstPayload words);
  void bring_back(ConstPayload words, Payload to);

 private:
  void find(const Piece& piece, const SparseIndex::Union& positions);
  [[nodiscard]] kernels::SparseRun run_of(const Unit& unit) const;
  [[nodiscard]] std::byte* compacted_at(std::size_t element) {
    return compacted_.data() + element * size_of(type_);
  }

  ElementType type_;
  const kernels::SparseKernels& kernels_;  ///< of the elements
  const kernels::SparseKernels& host_;
  Memory& memory_;
  std::size_t unit_length_;
  SparseIndex& index_;
  const CallBuffers& call_;
  std::size_t elements_ = 0;          ///< of the vector
  MemoryArray<std::byte> compacted_;  ///< each unit's values where the unit begins
  MemoryArray<std::uint64_t> unfinished_;
  std::vector<Unit> units_;  ///< of the vector
  std::vector<Piece> inner_pieces_;
};

}  // namespace cohom
