#pragma once
// AgreedWords: what rounds have agreed on, for a codec that runs without an executor.

#include "codecs/common/codec_interface.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cohom::test {

/// Kept by round and piece; one entry for a round of scope `vector`.
class AgreedWords final : public Agreed {
 public:
  AgreedWords(std::span<const RoundInfo> rounds, std::span<const Piece> pieces)
      : rounds_(rounds), pieces_(pieces), words_(rounds.size()) {}

  [[nodiscard]] ConstWords words(int round, const Piece& piece) const override {
    const bool one = rounds_[std::size_t(round)].scope == RoundScope::vector;
    return words_[std::size_t(round)].at(one ? 0 : piece.index);
  }
  [[nodiscard]] std::span<const Piece> pieces() const override { return pieces_; }

  /// The round's next piece, in the order of pieces.
  void add(int round, std::vector<std::uint64_t> words) {
    words_[std::size_t(round)].push_back(std::move(words));
  }

 private:
  std::span<const RoundInfo> rounds_;
  std::span<const Piece> pieces_;
  std::vector<std::vector<std::vector<std::uint64_t>>> words_;
};

}  // namespace cohom::test
