#pragma once
// Elements whose fields do not fit the payload: a fallback round.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/exact/exact_header.hpp"
#include "codecs/exact/exact_vectors.hpp"
#include "kernels/exact/body/exact_wide.hpp"
#include "memory/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

/// Mini-blocks with a NaN, an infinity, or numbers too far apart for the payload. Its vector is
/// their elements, in their order; one that ends early before another one has 16, and those behind
/// its end have no words.
class ExactWideRound final : public Round {
 public:
  /// What is referred to outlives it.
  ExactWideRound(const CodecContext& context, const ExactDivisor& divisor, ExactHeaderRound& header,
                 const CallBuffers& call);

  [[nodiscard]] std::size_t capacity(std::size_t contributions,
                                     std::size_t elements) const override;
  std::size_t fallback_elements() override;
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

  /// Copies the elements of a piece that are not wide.
  /// `elements` lie where those of calls do.
  void copy_others(const Piece& piece, const std::byte* elements);

 private:
  struct Mini {
    std::size_t first = 0;  ///< in the user's vector
    std::size_t count = 0;  ///< elements
    kernels::body::ExactWideShape shape;
  };
  /// Calls visit(its index in the piece, its shape) for all mini-blocks that are wide.
  template <class Visit>
  void for_each_wide(const Piece& piece, Visit visit);
  /// Calls visit(mini-blocks) for those that are neighbours in the vector, a group at most.
  template <class Visit>
  static void for_each_run(std::span<const Mini> minis, Visit visit);
  /// Of a piece of this round's vector.
  [[nodiscard]] std::span<const Mini> minis_of(const Piece& piece) const;
  [[nodiscard]] std::size_t words_of(const Piece& piece) const;

  ElementType type_;
  Memory& memory_;
  kernels::body::ExactWidths widths_;
  const ExactDivisor& divisor_;
  ExactHeaderRound& header_;
  const CallBuffers& call_;
  std::vector<Mini> minis_;    ///< of the call in flight, in the vector's order
  std::size_t max_words_ = 0;  ///< of an element
};

}  // namespace cohom
