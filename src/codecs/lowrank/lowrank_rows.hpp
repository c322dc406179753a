#pragma once
// LowrankRows: the rows of a call's matrix, times a power of two that brings its largest element
// between 1 and 2.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/lowrank/lowrank_options.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

/// Codes of the largest magnitude of a vector: 0 is a vector of zeros, others order like exponents.
struct LowrankCode {
  static constexpr std::uint32_t outlier = 0xffffffff;
  static constexpr int offset = 2000, least = -1074, largest = 1023;

  static constexpr int exponent(std::uint32_t code) { return static_cast<int>(code) - offset; }
};

class LowrankRows {
 public:
  /// `call`: the codec's.
  LowrankRows(const CodecContext& context, const LowrankShape& shape, const CallBuffers& call);

  /// Of elements, with what was fed back. An outlier: one is not finite, or so large that products
  /// overflow.
  [[nodiscard]] std::uint32_t code_of(const Piece& piece) const;

  /// Reads a row: elements times 2^-exponent, with what was fed back, as f32.
  std::span<const float> read(std::size_t first, std::size_t count, int exponent);
  /// Keeps, for the next call, what `sent` lacks of the row that was read last.
  void feed_back(std::span<const float> sent);
  /// Writes a row of the output: values times 2^exponent, over the divisor.
  void write(std::size_t first, std::size_t count, std::span<const float> values, int exponent);
  /// Keeps all of a piece for the outlier round to take.
  void feed_back_all(const Piece& piece);

  [[nodiscard]] bool feeds_back() const { return !call_.state.empty(); }
  /// A row to write in.
  [[nodiscard]] std::span<float> scratch() { return scratch_; }

 private:
  struct Read {
    std::size_t first = 0, count = 0;
    int exponent = 0;
  };

  ElementType type_;
  std::uint64_t divisor_;
  const CallBuffers& call_;
  std::vector<float> row_, scratch_;
  std::vector<double> row_of_f64_;  ///< of vectors of f64, whose rests are
  Read read_;
};

}  // namespace cohom
