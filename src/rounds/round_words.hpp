#pragma once
// RoundWords: the words of a round, piece by piece, where no executor keeps them.

#include "codecs/common/round.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

/// Parts of unlike lengths one behind the other. A round of scope `vector` has one.
class RoundWords final : public AgreedPayload {
 public:
  explicit RoundWords(RoundScope scope = RoundScope::piece) : one_(scope == RoundScope::vector) {}

  void clear();
  /// Appends a part of so many words, whose content is not defined.
  Payload add(std::size_t words);
  /// The last part has so many words from now on.
  void resize_last(std::size_t words);
  /// All parts of another round, which has none then.
  void take(RoundWords& other);

  [[nodiscard]] std::size_t parts() const { return ends_.size(); }
  [[nodiscard]] Payload part(std::size_t index);
  [[nodiscard]] ConstPayload part(std::size_t index) const;
  [[nodiscard]] Payload all() { return words_; }
  [[nodiscard]] ConstPayload words(const Piece& piece) const override {
    return part(one_ ? 0 : piece.index);
  }

 private:
  [[nodiscard]] std::size_t begin_of(std::size_t index) const {
    return index == 0 ? 0 : ends_[index - 1];
  }

  bool one_;
  std::vector<std::uint64_t> words_;
  std::vector<std::size_t> ends_;
};

}  // namespace cohom
