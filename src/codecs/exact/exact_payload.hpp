#pragma once
// The round of exact that sums: integers in bit streams.

#include "base/worker_pool.hpp"
#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/exact/exact_header.hpp"
#include "codecs/exact/exact_vectors.hpp"
#include "codecs/exact/exact_wide.hpp"
#include "kernels/exact/exact.hpp"
#include "memory/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

/// Who has a complete sum rounds it, and elements travel on.
class ExactPayload final : public Round {
 public:
  /// What is referred to outlives it.
  ExactPayload(const CodecContext& context, const ExactDivisor& divisor, ExactHeaderRound& header,
               ExactWideRound& wide, const CallBuffers& call);

  void reserve(std::size_t longest_piece) {
    scratch_.for_each([&](auto& scratch) { scratch = {memory_, capacity(ranks_, longest_piece)}; });
    sources_.for_each([&](auto& sources) { sources.reserve(ranks_); });
  }

  [[nodiscard]] std::size_t capacity(std::size_t contributions,
                                     std::size_t elements) const override {
    return kernels::exact_capacity(room(contributions), type_, elements);
  }
  [[nodiscard]] std::size_t finished_capacity(std::size_t, std::size_t elements) const override {
    return (elements * size_of(type_) + 7) / 8;
  }
  [[nodiscard]] std::size_t length(std::size_t contributions, const Piece& piece) override {
    return header_.payload_words(room(contributions).contributions, piece);
  }
  [[nodiscard]] std::size_t device_scratch(std::size_t longest_piece) const {
    constexpr std::size_t gaps = 4 * 256;  // behind each of them
    return gaps + 8 * (kernels::exact_header_words(type_, longest_piece) +
                       kernels::exact_groups(longest_piece) + 1 + ranks_);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  std::size_t promote(const Piece& piece, std::span<const ConstPayload> contributions,
                      std::size_t room, Payload sum) override;
  std::size_t finish(const Piece& piece, Payload sum, std::size_t words) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  [[nodiscard]] kernels::ExactRoom room(std::size_t contributions) const {
    return {ranks_, contributions == alone ? 1 : contributions};
  }
  /// Words of a payload with room for so many contributions are as many as the header says.
  void expect_words(std::size_t contributions, const Piece& piece, std::size_t words);
  /// Writes rounded elements, zeros behind them up to whole words, and returns these.
  std::size_t round(const Piece& piece, const std::uint64_t* words, std::uint64_t* elements);

  ElementType type_;
  std::size_t ranks_;
  const kernels::ExactKernels& kernels_;
  Memory& memory_;
  const ExactDivisor& divisor_;
  ExactHeaderRound& header_;
  ExactWideRound& wide_;
  const CallBuffers& call_;
  PerWorker<MemoryArray<std::uint64_t>> scratch_;  ///< of one piece
  PerWorker<std::vector<const std::uint64_t*>> sources_;
};

}  // namespace cohom
