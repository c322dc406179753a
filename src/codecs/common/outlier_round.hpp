#pragma once
// OutlierRound: the fallback round of a codec in which the elements of outlier blocks travel as
// they are. They are added exactly, a mean is divided, and the result is rounded once: so it does
// not depend on the order, and nothing cancels or overflows on the way. Sums of some ranks'
// elements travel as the words of a LongAccumulator, where owners do not get all ranks' elements at
// once. Blocks are outliers because some rank holds a value in them that the codec cannot express,
// e.g. a NaN. That is rare, so the processor does it, wherever the elements lie.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/common/outlier_blocks.hpp"
#include "memory/host_window.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace cohom {

class OutlierRound final : public Round {
 public:
  /// What travels of elements whose codec keeps error feedback.
  enum class Travels : std::uint8_t {
    feedback,  ///< input + what was left over: it becomes zero, and nothing is lost
    input,  ///< for codecs that no longer have the sum when they learn of outliers: what was left
            ///< over from earlier calls is dropped
  };

  /// Adds the blocks that are outliers, once all ranks have agreed.
  using Find = std::function<void(OutlierBlocks&)>;

  /// `call`: the codec's.
  OutlierRound(const CodecContext& context, const CallBuffers& call, Find find);
  /// The codec adds to blocks() while it decodes the payload.
  OutlierRound(const CodecContext& context, const CallBuffers& call, Travels travels);

  [[nodiscard]] OutlierBlocks& blocks() { return blocks_; }
  /// Of a call.
  void start() { blocks_.clear(); }

  [[nodiscard]] std::size_t capacity(std::size_t contributions,
                                     std::size_t elements) const override {
    return contributions == alone || ranks_ == 1 ? words_of(elements) : elements * sum_words_;
  }
  [[nodiscard]] std::size_t finished_capacity(std::size_t, std::size_t elements) const override {
    return words_of(elements);
  }
  std::size_t fallback_elements() override;
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  /// The results, rounded, from all ranks' elements; from those of some, their sums.
  std::size_t promote(const Piece& piece, std::span<const ConstPayload> contributions,
                      std::size_t room, Payload sum) override;
  std::size_t finish(const Piece& piece, Payload sum, std::size_t words) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  /// Of elements as they are.
  [[nodiscard]] std::size_t words_of(std::size_t elements) const {
    return (elements * size_of(type_) + 7) / 8;
  }
  std::size_t encode_elements(const Piece& piece, Payload out);
  std::size_t add_some(const Piece& piece, std::span<const ConstPayload> contributions,
                       Payload sums) const;
  void take_feedback(std::byte* feedback, std::size_t count, std::byte* elements);

  ElementType type_;
  std::size_t ranks_;
  std::size_t sum_words_;  ///< of an element's sum that is not rounded
  std::uint64_t divisor_;
  Memory& memory_;
  HostWindow window_;
  const CallBuffers& call_;
  Find find_;
  Travels travels_;
  OutlierBlocks blocks_;
};

}  // namespace cohom
