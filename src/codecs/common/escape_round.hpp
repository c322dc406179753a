#pragma once
// EscapeRound: the late round of a codec in which the elements of escaped blocks travel as they
// are. The owner has all ranks' elements, adds them exactly, divides a mean, and rounds once: so
// the result does not depend on the order, and nothing cancels or overflows on the way. Blocks
// escape because some rank holds a value in them that the codec cannot express, e.g. a NaN. That is
// rare, so the processor does it, wherever the elements lie.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/common/escaped_blocks.hpp"
#include "memory/host_window.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace cohom {

class EscapeRound final : public Round {
 public:
  /// What travels of elements whose codec keeps error feedback.
  enum class Travels : std::uint8_t {
    feedback,  ///< input + what was left over: it becomes zero, and nothing is lost
    input,  ///< for codecs that no longer have the sum when they learn what escapes: what was left
            ///< over from earlier calls is dropped
  };

  /// Adds the blocks that escape, once all ranks have agreed.
  using Find = std::function<void(EscapedBlocks&)>;

  /// `call`: the codec's.
  EscapeRound(const CodecContext& context, const CallBuffers& call, Find find);
  /// The codec adds to blocks() while it decodes the payload.
  EscapeRound(const CodecContext& context, const CallBuffers& call, Travels travels);

  [[nodiscard]] EscapedBlocks& blocks() { return blocks_; }
  /// Of a call.
  void start() { blocks_.clear(); }

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return (elements * size_of(type_) + 7) / 8;
  }
  std::size_t late_elements() override;
  std::size_t encode(std::size_t contributions, const Piece& piece, Words out) override;
  /// The results, rounded, from all ranks' elements.
  std::size_t promote(const Piece& piece, std::span<const ConstWords> contributions,
                      Words sum) override;
  void decode(const Piece& piece, ConstWords sum, std::size_t contributions) override;

 private:
  void take_feedback(std::byte* feedback, std::size_t count, std::byte* elements);

  ElementType type_;
  std::uint64_t divisor_;
  Memory& memory_;
  HostWindow window_;
  const CallBuffers& call_;
  Find find_;
  Travels travels_;
  EscapedBlocks blocks_;
};

}  // namespace cohom
