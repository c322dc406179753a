#pragma once
// BlockScale: the round in which all ranks agree on a code for the scale of every block.
// BlockCodes: the common form of it, the maximum of the ranks' codes, two a word.

#include "base/worker_pool.hpp"
#include "codecs/common/codec.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cohom {

class BlockScale : public Round {
 public:
  using Round::Round;

  virtual void reserve(std::size_t elements, std::size_t longest_piece) = 0;
  /// The agreed code of every block of a piece; valid until the thread's next call.
  /// @throws Error(transport) for codes that no rank can have sent
  virtual std::span<const std::uint32_t> codes(const Piece& piece) = 0;
};

class BlockCodes : public BlockScale {
 public:
  /// `workers`: CodecContext's.
  BlockCodes(std::string_view name, std::size_t block, std::size_t workers)
      : BlockScale({.name = name, .merge = {MergeKind::max}}), block_(block), codes_(workers) {}

  void reserve(std::size_t /*elements*/, std::size_t longest_piece) override {
    codes_.for_each([&](auto& codes) { codes.reserve(blocks_of(longest_piece)); });
  }
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return (blocks_of(elements) + 1) / 2;
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  std::span<const std::uint32_t> codes(const Piece& piece) override;

 protected:
  /// This rank's codes.
  virtual void measure(const Piece& piece, std::span<std::uint32_t> codes) = 0;
  /// @throws Error(transport) for a code that no rank can have sent
  virtual void check(std::uint32_t code) const = 0;

  [[nodiscard]] std::size_t blocks_of(std::size_t elements) const {
    return (elements + block_ - 1) / block_;
  }

 private:
  std::size_t block_;
  PerWorker<std::vector<std::uint32_t>> codes_;  ///< of one piece
};

/// Two 32-bit numbers a word, the first one low. Other rounds that send a number a block lay them
/// out so, too.
std::size_t put_halves(std::span<const std::uint32_t> numbers, Payload out);
inline std::uint32_t half_of(ConstPayload words, std::size_t index) {
  return static_cast<std::uint32_t>(words[index / 2] >> (index % 2 * 32));
}

}  // namespace cohom
