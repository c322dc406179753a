#pragma once
// Tables of permutations for processors that cannot expand or compress lanes by a bit mask.

#include <array>
#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

/// One permutation for every mask of `lanes` bits, as indices of the parts to take; a lane is
/// `parts` of them. -1: the lane is not selected.
template <std::size_t lanes, std::size_t parts>
struct LanePermutations {
  struct alignas(lanes* parts) Indices {
    std::array<std::int8_t, lanes * parts> part;
  };
  std::array<Indices, std::size_t{1} << lanes> expand{};    ///< lane i := next one, if bit i is set
  std::array<Indices, std::size_t{1} << lanes> compress{};  ///< lanes whose bit is set, together

  constexpr LanePermutations() {
    for (std::size_t mask = 0; mask < expand.size(); ++mask) {
      std::size_t selected = 0;
      compress[mask].part.fill(-1);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const bool taken = (mask >> lane & 1) != 0;
        for (std::size_t p = 0; p < parts; ++p) {
          expand[mask].part[lane * parts + p] = taken ? index(selected, p) : std::int8_t{-1};
          if (taken) compress[mask].part[selected * parts + p] = index(lane, p);
        }
        if (taken) ++selected;
      }
    }
  }

 private:
  static constexpr std::int8_t index(std::size_t lane, std::size_t part) {
    return static_cast<std::int8_t>(lane * parts + part);
  }
};

/// For lanes taken as their bytes: eight of 16 bits and two of 64. For four of 64 bits taken as
/// their words.
inline constexpr LanePermutations<8, 2> permutations_of_halves;
inline constexpr LanePermutations<2, 8> permutations_of_pairs;
inline constexpr LanePermutations<4, 2> permutations_of_doubles;

/// For eight lanes taken whole, and for four taken as their bytes.
inline constexpr LanePermutations<8, 1> permutations_of_8;
inline constexpr LanePermutations<4, 4> permutations_of_4;

}  // namespace cohom::kernels
