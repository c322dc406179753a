#pragma once
// Sums of any number of vectors a rank (`vectors=many`): how many there are in all, which is what a
// mean is divided by.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom {

/// What sums are divided by.
class ExactDivisor {
 public:
  /// `many`: ranks contribute any number of vectors, and not one each.
  ExactDivisor(const CodecContext& context, bool many);

  [[nodiscard]] bool of_many() const { return many_; }
  /// Of one vector a rank.
  [[nodiscard]] std::uint64_t of_ranks() const { return divisor_; }
  /// Of so many vectors; 0: of none, whose result is write_none().
  /// @throws Error(transport) for more than there can be
  [[nodiscard]] std::uint64_t of(std::uint64_t vectors) const;
  /// What no vectors give: zeros for a sum, NaNs for a mean.
  void write_none(std::size_t count, void* output) const;

 private:
  ElementType type_;
  std::uint64_t divisor_;
  bool mean_, many_;
};

/// How many vectors this rank contributes.
std::uint64_t own_vectors(const CallBuffers& call);

/// The round in which ranks agree on the number of vectors of all. A codec of one vector a rank has
/// one, too, which is not among its rounds and knows the divisor.
class ExactVectorsRound final : public Round {
 public:
  /// `divisor` and `call`: the codec's.
  ExactVectorsRound(const ExactDivisor& divisor, const CallBuffers& call);

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t) const override { return 1; }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;

  /// Of the call's sum; 0: there are no vectors. @throws what ExactDivisor::of() does
  [[nodiscard]] std::uint64_t divisor() const;
  void write_none(std::size_t count, void* output) const { divisor_.write_none(count, output); }

 private:
  const ExactDivisor& divisor_;
  const CallBuffers& call_;
};

}  // namespace cohom
