#include "union_over_ranks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::bench {
namespace {

constexpr std::size_t block = 512;
constexpr std::size_t block_words = block / 64;
constexpr std::size_t union_window = 64 * block;

/// The bits of a window's values, then a bit a block that this rank calls full.
using Window = std::array<std::uint64_t, union_window / 64 + 1>;

std::size_t values_of_block(const Window& bits, std::size_t b) {
  std::size_t values = 0;
  for (std::size_t w = b * block_words; w < (b + 1) * block_words; ++w)
    values += static_cast<std::size_t>(std::popcount(bits[w]));
  return values;
}

}  // namespace

UnionShape union_over_ranks(const Elements& vector, MPI_Comm comm) {
  UnionShape shape{.elements = vector.count};
  std::uint64_t contributed = 0;
  std::vector<double> values(std::min(union_window, vector.count));
  for (std::size_t first = 0; first < vector.count; first += union_window) {
    const auto part = std::span(values).first(std::min(union_window, vector.count - first));
    load(vector.type, vector.at(first), part);
    Window bits{};
    for (std::size_t i = 0; i < part.size(); ++i)
      bits[i / 64] |= std::uint64_t{part[i] != 0 || std::signbit(part[i])} << i % 64;
    const std::size_t blocks = (part.size() + block - 1) / block;
    const auto elements_of = [&](std::size_t b) {
      return std::min(block, part.size() - b * block);
    };
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t own = values_of_block(bits, b);
      const std::size_t zero_bytes = (elements_of(b) - own) * size_of(vector.type);
      contributed += own;
      const bool full = zero_bytes < (elements_of(b) + 63) / 64 * 8;
      bits.back() |= std::uint64_t{full} << b;
    }
    MPI_Allreduce(MPI_IN_PLACE, bits.data(), static_cast<int>(bits.size()), MPI_UINT64_T, MPI_BOR,
                  comm);
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t in_block = values_of_block(bits, b);
      const bool full = (bits.back() >> b & 1) != 0;
      shape.values += in_block;
      if (full)
        shape.zeros_of_full += elements_of(b) - in_block;
      else if (in_block != 0)
        shape.mixed += elements_of(b);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &contributed, 1, MPI_UINT64_T, MPI_SUM, comm);
  shape.contributed = contributed;
  return shape;
}

}  // namespace cohom::bench
