#pragma once
// AgreedPieces: what a round before the payload agreed on, piece by piece as it completes.

#include "codecs/common/round.hpp"
#include "executor/payload_locations.hpp"
#include "executor/round_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom {

class AgreedPieces final : public AgreedPayload {
 public:
  /// What is referred to outlives it. Of rounds that do not agree it stays empty.
  AgreedPieces(const Round& round, const RoundLayout& layout, const PayloadLocations& locations);
  AgreedPieces(const AgreedPieces&) = delete;
  AgreedPieces& operator=(const AgreedPieces&) = delete;

  void begin();
  /// Where this rank's words of a piece lie in its unit's. In a schedule of one chunk those of the
  /// sum lie there too.
  void set_own(const Piece& piece, std::size_t begin, std::size_t words) {
    if (agrees_) extents_[piece.index] = {begin, words};
  }
  /// The sum of a slot's unit is there. @throws Error(transport) when it is not as long as this
  /// rank's
  void add(std::uint32_t slot, std::uint32_t unit);

  [[nodiscard]] bool agrees() const { return agrees_; }
  [[nodiscard]] bool has(std::size_t piece) const { return agreed_[piece]; }
  [[nodiscard]] bool has_all() const { return count_ == agreed_.size(); }
  [[nodiscard]] ConstPayload words(const Piece& piece) const override;

 private:
  struct Place {
    std::uint32_t slot = 0, unit = 0;
  };
  struct Extent {
    std::size_t begin = 0;
    std::size_t words = 0;
  };

  void expect_own_length(std::uint32_t slot, std::uint32_t unit) const;

  const RoundLayout& layout_;
  const PayloadLocations& locations_;
  bool agrees_;
  bool whole_;                   ///< one set of words for the whole vector
  bool has_chunks_;              ///< units are pieces of one number
  std::vector<Place> places_;    ///< by piece: of the sum
  std::vector<Extent> extents_;  ///< by piece
  std::vector<bool> agreed_;     ///< by piece
  std::size_t count_ = 0;        ///< pieces agreed on
};

}  // namespace cohom
