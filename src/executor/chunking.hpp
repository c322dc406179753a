#pragma once
// Chunking: cuts a vector into chunks (what one rank owns in a reduce-scatter) of whole blocks, and
// chunks into pieces of at most one segment.

#include "codecs/common/round.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace cohom {

/// Pieces are listed by their number: the first piece of every chunk, then the second of every
/// chunk, ... That is the order in which algorithms want their agreement and their encoding.
class Chunking {
 public:
  Chunking(std::size_t elements, std::size_t block, std::size_t chunks,
           std::size_t segment_elements);

  [[nodiscard]] std::size_t elements() const { return elements_; }
  [[nodiscard]] std::size_t chunks() const { return pieces_of_chunk_.size(); }
  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  [[nodiscard]] std::size_t longest_piece() const;
  /// Indices into pieces() of one chunk, ascending in the vector. Empty for an empty chunk.
  [[nodiscard]] std::span<const std::size_t> pieces_of_chunk(std::size_t chunk) const {
    return pieces_of_chunk_[chunk];
  }
  /// Pieces of number n: pieces()[first_of_piece_number(n) .. first_of_piece_number(n + 1)).
  [[nodiscard]] std::size_t piece_numbers() const { return first_of_piece_number_.size() - 1; }
  [[nodiscard]] std::size_t first_of_piece_number(std::size_t number) const {
    return first_of_piece_number_[number];
  }

 private:
  std::size_t elements_;
  std::vector<Piece> pieces_;
  std::vector<std::vector<std::size_t>> pieces_of_chunk_;
  std::vector<std::size_t> first_of_piece_number_;
};

}  // namespace cohom
