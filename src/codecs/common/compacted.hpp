#pragma once
// CompactedCodec: another codec on what is left of a vector without the elements that are zero on every
// rank. The wire is specified in docs/wire-format.md, "sparse+thc".
//
// SparseIndex's rounds come first, then those of the inner codec. Each *unit*, a fixed number of
// elements of the vector, is compacted by itself and is a piece of the inner codec, which starts where
// the unit does: what the inner codec sees does not depend on chunks and segments, nor do its draws.

#include "codecs/common/codec_context.hpp"
#include "codecs/common/codec_interface.hpp"
#include "codecs/common/sparse_index.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace cohom {

class CompactedCodec final : public Codec {
 public:
  /// The inner codec keeps no state, its rounds have scope `piece` or are late and do not wait for the
  /// payload, any of its pieces may be ragged, and it works in place.
  CompactedCodec(const CodecContext& context, const IndexOptions& index,
                 std::unique_ptr<Codec> inner);

  [[nodiscard]] std::size_t block() const override { return unit_; }
  [[nodiscard]] std::span<const RoundInfo> rounds() const override { return rounds_; }
  [[nodiscard]] int payload_round() const override { return first_ + inner_->payload_round(); }
  [[nodiscard]] std::size_t capacity(int round, Form form, std::size_t elements) const override;

  void reserve(std::size_t elements, std::size_t longest_piece) override;
  [[nodiscard]] std::size_t device_scratch(std::size_t elements, std::size_t) const override {
    return inner_->device_scratch(elements, unit_);
  }
  void begin(const CallBuffers& call) override;
  std::size_t late_elements(int round, const Agreed& agreed) override;
  std::size_t encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                     Words out) override;
  std::size_t widen(int round, const Piece& piece, const Agreed& agreed,
                    std::span<const ConstWords> contributions, Words sum) override;
  void decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
              std::size_t contributions) override;

 private:
  class UnitsAgreed;
  /// A unit as the inner codec's piece, and the piece that it is part of.
  struct Unit {
    Piece inner;
    Piece outer;
  };

  [[nodiscard]] bool is_late(int round) const {
    return rounds_[std::size_t(round)].scope == RoundScope::late;
  }
  [[nodiscard]] std::span<const Unit> units_of(const Piece& piece) const;
  [[nodiscard]] kernels::SparseRun run_of(const Unit& unit) const;
  [[nodiscard]] std::byte* compacted_at(std::size_t element) {
    return compacted_.data() + element * size_of(type_);
  }
  /// Words of the unit in an inner round; none without a value.
  [[nodiscard]] std::size_t words_of(int inner_round, Form form, const Unit& unit) const {
    return unit.inner.count == 0 ? 0 : inner_->capacity(inner_round, form, unit.inner.count);
  }
  void expect_length(int inner_round, Form form, const Piece& piece, std::size_t words) const;
  void compact(const Piece& piece, const Agreed& agreed);
  void expand(const Piece& piece, const Agreed& agreed);

  ElementType type_;
  const kernels::KernelTable& kernels_;  ///< of the elements
  const kernels::KernelTable& host_;
  Memory& memory_;
  std::unique_ptr<Codec> inner_;
  std::size_t unit_;  ///< elements
  SparseIndex index_;
  int first_;  ///< the inner codec's first round
  std::vector<RoundInfo> rounds_;

  std::size_t elements_ = 0;  ///< of the vector
  std::vector<ConstWords> unit_words_;

  // Of the call in flight.
  CallBuffers call_;
  MemoryArray<std::byte> compacted_;  ///< each unit's values where the unit begins
  std::vector<Unit> units_;           ///< of the vector
  std::vector<Piece> inner_pieces_;   ///< those with values, once a late round asks
  std::size_t late_left_ = 0;         ///< elements of the late round not decoded yet
};

}  // namespace cohom
