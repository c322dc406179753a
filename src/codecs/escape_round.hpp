#pragma once
// EscapeRound: the late round of a codec in which the elements of escaped blocks travel as they are,
// and are summed in rank order. Blocks escape because some rank holds a value in them that the codec
// cannot express, e.g. a NaN. That is rare, so the processor does it, wherever the elements lie.

#include "codec_interface.hpp"
#include "codecs/codec_context.hpp"
#include "codecs/escaped_blocks.hpp"
#include "memory/host_window.hpp"

#include <cstddef>

namespace cohom {

class EscapeRound {
 public:
  explicit EscapeRound(const CodecContext& context) : EscapeRound(context, context.type) {}
  /// `added_in`: the type sums are made in, that of the elements, or f64, which loses nothing that a bound
  /// of the error would notice.
  EscapeRound(const CodecContext& context, ElementType added_in);

  /// direct: the owner adds in rank order, and so IEEE sums are the same for any algorithm.
  [[nodiscard]] static RoundInfo info(ElementType added_in);

  /// Which blocks escape; filled anew in every call.
  [[nodiscard]] EscapedBlocks& blocks() { return blocks_; }

  [[nodiscard]] std::size_t capacity(std::size_t elements) const {
    return (elements * size_of(added_in_) + 7) / 8;
  }
  /// With `feedback` (the vector's, one value an element: input + what was left over) its values
  /// travel, and it becomes zero: nothing is lost that could be fed back.
  std::size_t encode(const Piece& piece, const void* input, std::byte* feedback, Words out);
  /// For codecs that no longer have input + feedback when they learn what escapes: the input travels,
  /// and what was left over from earlier calls is dropped.
  std::size_t encode_input(const Piece& piece, const void* input, std::byte* feedback, Words out);
  void decode(const Piece& piece, ConstWords sum, void* output);

 private:
  void take_feedback(std::byte* feedback, std::size_t count, std::byte* elements);

  ElementType type_, added_in_;
  std::uint64_t divisor_;
  const kernels::KernelTable& kernels_;  ///< the processor's
  Memory& memory_;
  HostWindow window_;
  EscapedBlocks blocks_;
};

}  // namespace cohom
