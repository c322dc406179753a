#pragma once
// Sums of any number of vectors a rank (`vectors=many`): how many there are in all, which is what a
// mean is divided by.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom {

/// How many vectors this rank contributes.
std::uint64_t own_vectors(const CallBuffers& call);

/// The round in which ranks agree on the number of vectors of all.
class ExactVectorsRound final : public Round {
 public:
  explicit ExactVectorsRound(const CallBuffers& call);

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t) const override { return 1; }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;

  [[nodiscard]] std::uint64_t vectors() const;

 private:
  const CallBuffers& call_;
};

/// What sums are divided by.
class ExactDivisor {
 public:
  /// `vectors`: where their number is agreed on; nullptr: there is one a rank, or who calls of()
  /// knows the number.
  explicit ExactDivisor(const CodecContext& context, const ExactVectorsRound* vectors = nullptr);

  /// Of the call's sum; 0: of no vectors, whose result is write_none().
  /// @throws what of() does
  [[nodiscard]] std::uint64_t of_call() const;
  /// Of so many vectors; 0 as above.
  /// @throws Error(transport) for more than there can be
  [[nodiscard]] std::uint64_t of(std::uint64_t vectors) const;
  /// What no vectors give: zeros for a sum, NaNs for a mean.
  void write_none(std::size_t count, void* output) const;

 private:
  ElementType type_;
  std::uint64_t of_ranks_;
  bool mean_;
  const ExactVectorsRound* vectors_;
};

}  // namespace cohom
