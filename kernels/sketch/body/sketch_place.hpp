#pragma once
// Where the items of a sketch go (docs/wire-format.md, "sketch"): a cell of each row, and a sign.

#include "kernels/core/body/random.hpp"
#include "kernels/core/hd.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::body {

inline constexpr std::uint32_t sketch_rows = 3;

struct SketchShape {
  std::uint32_t row = 0;  ///< cells of a row; three of them are at most 2^21
  std::uint64_t key = 0;

  [[nodiscard]] COHOM_HD constexpr std::size_t cells() const {
    return std::size_t{sketch_rows} * row;
  }
};

/// The cells of one item in 21 bits each, and its sign in the highest: 64 bits that are made once
/// and read at every use of the item.
class SketchPlace {
 public:
  SketchPlace() = default;
  COHOM_HD constexpr SketchPlace(const SketchShape& shape, std::uint32_t name) {
    const std::uint64_t bits = mix64(shape.key + name * golden64);
    const std::uint64_t more = (bits >> 32 ^ bits) * golden64;
    packed_ = part(bits >> 32, shape.row) |
              (shape.row + part(bits & 0xffffffff, shape.row)) << cell_bits |
              (2 * std::uint64_t{shape.row} + part(more >> 32, shape.row)) << 2 * cell_bits |
              (more >> 31 & 1) << 63;
  }

  [[nodiscard]] COHOM_HD constexpr std::uint32_t cell(std::uint32_t row) const {
    return static_cast<std::uint32_t>(packed_ >> row * cell_bits & ((1u << cell_bits) - 1));
  }
  [[nodiscard]] COHOM_HD constexpr bool negative() const { return packed_ >> 63 != 0; }
  /// The integer or its negative, without a branch on a sign that a hash drew, which would be a
  /// coin's.
  [[nodiscard]] COHOM_HD constexpr std::uint64_t with_sign(std::uint64_t integer) const {
    const std::uint64_t one = packed_ >> 63;
    return (integer ^ (0 - one)) + one;
  }

  static constexpr std::uint32_t cell_bits = 21;

 private:
  static COHOM_HD constexpr std::uint64_t part(std::uint64_t random, std::uint32_t row) {
    return random * row >> 32;
  }

  std::uint64_t packed_;
};

}  // namespace cohom::kernels::body
