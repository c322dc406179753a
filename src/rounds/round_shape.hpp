#pragma once
// RoundShape: how a round's contributions meet where somebody else moves them, and how many words
// there are at most.

#include "codecs/common/round.hpp"

#include <cohom/rounds.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom {

/// Of what way_by() says. Ranks that choose unlike ways would wait for each other for ever.
inline constexpr std::uint64_t version_of_ways = 2;

class RoundShape {
 public:
  enum class Way : std::uint8_t {
    reduce,  ///< by one all_reduce
    gather,  ///< all ranks get all contributions, and each adds them
    owners,  ///< each rank owns a piece: it adds the contributions to it
  };

  RoundShape() = default;
  /// `scatters`: owners keep their sums.
  RoundShape(const Round& round, std::size_t ranks, const RoundsOptions& options, bool scatters);

  [[nodiscard]] Way way() const { return way_; }
  [[nodiscard]] bool is_whole() const { return traits().scope == RoundScope::vector; }
  /// Whether contributions are: those to owners, and that of one rank alone, as by `direct`.
  [[nodiscard]] bool is_narrow() const {
    return (way_ == Way::owners || ranks_ == 1) && traits().narrow();
  }
  [[nodiscard]] std::size_t contributors() const { return is_narrow() ? alone : ranks_; }
  /// Whether a complete sum goes through Round::finish().
  [[nodiscard]] bool finishes() const;
  [[nodiscard]] bool sums_have_own_lengths() const {
    return traits().varies() || traits().merges_itself();
  }
  /// Most words of a rank's contribution to so many elements, and of its complete sum.
  [[nodiscard]] std::size_t contribution_capacity(std::size_t elements) const;
  [[nodiscard]] std::size_t sum_capacity(std::size_t elements) const;
  /// Words of a sum whose length is the same on all owners.
  [[nodiscard]] std::size_t sum_words(std::size_t elements) const;

 private:
  [[nodiscard]] const RoundTraits& traits() const { return round_->traits(); }
  [[nodiscard]] Way way_by(const RoundsOptions& options, bool scatters) const;

  const Round* round_ = nullptr;
  std::size_t ranks_ = 0;
  Way way_ = Way::reduce;
};

}  // namespace cohom
