#pragma once
// KeptRounds: what rounds have agreed on, for a codec that runs without an executor.

#include "codecs/common/codec.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace cohom::test {

/// Of one round, by piece; one entry for a round of scope `vector`.
class KeptWords final : public AgreedPayload {
 public:
  explicit KeptWords(RoundScope scope) : one_(scope == RoundScope::vector) {}

  [[nodiscard]] ConstPayload words(const Piece& piece) const override {
    return words_.at(one_ ? 0 : piece.index);
  }
  /// Of the next piece, in the order of pieces.
  void add(std::vector<std::uint64_t> words) { words_.push_back(std::move(words)); }

 private:
  bool one_;
  std::vector<std::vector<std::uint64_t>> words_;
};

/// Of all rounds of codecs that are alike. They keep them until a call has others.
class KeptRounds {
 public:
  void start(std::span<Round* const> rounds) {
    rounds_.clear();
    for (const Round* const round : rounds) rounds_.emplace_back(round->traits().scope);
    keep_of(rounds);
  }
  void keep_of(std::span<Round* const> rounds) {
    for (std::size_t r = 0; r < rounds.size(); ++r)
      if (rounds[r]->traits().time == RoundTime::before_payload)
        rounds[r]->keep_agreed_in(rounds_[r]);
  }
  void add(std::size_t round, std::vector<std::uint64_t> words) {
    rounds_[round].add(std::move(words));
  }
  [[nodiscard]] ConstPayload words(std::size_t round, const Piece& piece) const {
    return rounds_[round].words(piece);
  }

 private:
  std::deque<KeptWords> rounds_;  ///< stay where they are
};

}  // namespace cohom::test
