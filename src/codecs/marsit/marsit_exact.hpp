#pragma once
// MarsitExact: the round of calls with full-precision sums, in place of all others.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "memory/host_window.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom {

class MarsitExact final : public Round {
 public:
  /// `call` outlives it.
  MarsitExact(const CodecContext& context, const CallBuffers& call);

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return (elements * size_of(type_) + 7) / 8;
  }
  /// What was left over travels with the vector, and nothing is left over.
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  ElementType type_;
  std::uint64_t divisor_;
  const kernels::KernelTable& host_;
  Memory& memory_;
  HostWindow window_, compensation_;
  const CallBuffers& call_;
};

}  // namespace cohom
