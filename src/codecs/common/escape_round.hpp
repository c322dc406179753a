#pragma once
// EscapeRound: the late round of a codec in which the elements of escaped blocks travel as they
// are. The owner has all ranks' elements, adds them exactly, divides a mean, and rounds once: so
// the result does not depend on the order, and nothing cancels or overflows on the way. Blocks
// escape because some rank holds a value in them that the codec cannot express, e.g. a NaN. That is
// rare, so the processor does it, wherever the elements lie.

#include "codecs/common/codec_context.hpp"
#include "codecs/common/codec_interface.hpp"
#include "codecs/common/escaped_blocks.hpp"
#include "memory/host_window.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

class EscapeRound {
 public:
  explicit EscapeRound(const CodecContext& context);

  /// direct, and narrow: contributions go to their owner alone, who gets them all at once.
  [[nodiscard]] static RoundInfo info(ElementType type);

  /// Which blocks escape; filled anew in every call.
  [[nodiscard]] EscapedBlocks& blocks() { return blocks_; }

  [[nodiscard]] std::size_t capacity(std::size_t elements) const {
    return (elements * size_of(type_) + 7) / 8;
  }
  /// With `feedback` (the vector's, one value an element: input + what was left over) its values
  /// travel, and it becomes zero: nothing is lost that could be fed back.
  std::size_t encode(const Piece& piece, const void* input, std::byte* feedback, Words out);
  /// For codecs that no longer have input + feedback when they learn what escapes: the input travels,
  /// and what was left over from earlier calls is dropped.
  std::size_t encode_input(const Piece& piece, const void* input, std::byte* feedback, Words out);
  /// The codec's widen(): the results, rounded, from all ranks' elements.
  std::size_t add(const Piece& piece, std::span<const ConstWords> contributions, Words sum) const;
  void decode(const Piece& piece, ConstWords sum, void* output);

 private:
  void take_feedback(std::byte* feedback, std::size_t count, std::byte* elements);

  ElementType type_;
  std::uint64_t divisor_;
  Memory& memory_;
  HostWindow window_;
  EscapedBlocks blocks_;
};

}  // namespace cohom
