#pragma once
// Vectors so short that an agreement would take longer than fields of all bits.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/exact/exact_vectors.hpp"
#include "kernels/exact/body/exact_wide.hpp"
#include "memory/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom {

/// Fields of all bits that a type has: nothing has to be agreed on. Where ranks contribute any
/// number of vectors, that number comes behind them.
class ExactShortPayload final : public Round {
 public:
  /// `many`: ranks contribute any number of vectors, and not one each.
  ExactShortPayload(const CodecContext& context, bool many, const CallBuffers& call);

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return elements * shape_.words(widths_) + (many_ ? 1 : 0);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  void encode_on_host(const Piece& piece, const void* elements, std::uint64_t* words) const;
  void decode_on_host(const Piece& piece, const std::uint64_t* words, std::size_t contributions,
                      void* elements) const;

  ElementType type_;
  Memory& memory_;
  ExactDivisor divisor_;
  bool many_;
  kernels::body::ExactWidths widths_;
  kernels::body::ExactWideShape shape_;
  const CallBuffers& call_;
  /// Copies of what lies in a device's memory.
  std::vector<std::byte> elements_;
  std::vector<std::uint64_t> words_;
};

}  // namespace cohom
