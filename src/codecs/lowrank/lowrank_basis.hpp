#pragma once
// The two rounds of lowrank before its payload: the scale of the elements, and the columns that all
// ranks' matrices are projected on.

#include "codecs/common/codec.hpp"
#include "codecs/lowrank/lowrank_options.hpp"
#include "codecs/lowrank/lowrank_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

/// Round `scale`: the largest code of all ranks.
class LowrankScale final : public Round {
 public:
  LowrankScale(LowrankRows& rows, const CallBuffers& call)
      : Round({.name = "scale", .merge = {MergeKind::max}, .scope = RoundScope::vector}),
        rows_(rows),
        call_(call) {}

  void start() { own_ = 0; }
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return elements != 0;
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;

  /// Agreed on, and known to be one that this rank's elements do not exceed.
  [[nodiscard]] std::uint32_t code(const Piece& piece) const;

 private:
  LowrankRows& rows_;
  const CallBuffers& call_;
  std::uint32_t own_ = 0;
};

/// Round `basis`: with M the matrix and P of as many rows and `rank` columns, the sum of all ranks'
/// M^T P, whose columns, made orthonormal, are the basis. P is what the last call summed that had a
/// scale, made orthonormal; where there is none, numbers at random. Of at most `rank` rows it is a
/// part of the identity, and the basis spans all rows.
class LowrankBasis final : public Round {
 public:
  LowrankBasis(const LowrankShape& shape, LowrankRows& rows, const LowrankScale& scale,
               const CallBuffers& call);

  void reserve(std::size_t elements);
  void start() { is_ready_ = false; }
  /// Bytes of the rows of P that are kept between calls, behind the feedback.
  [[nodiscard]] std::size_t kept_bytes(std::size_t elements) const {
    return shape_.rows(elements) * shape_.rank * sizeof(float);
  }

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return elements != 0 ? shape_.words(shape_.columns) : 0;
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;

  /// Column `k` of the basis, as a row of the matrix is long.
  [[nodiscard]] std::span<const float> column(std::size_t k) const {
    return std::span(basis_).subspan(k * shape_.columns, shape_.columns);
  }
  /// Before column(), once the ranks have agreed.
  void prepare(const Piece& piece);
  /// Of a row's sum, for the next call. Nothing without feedback.
  void keep(std::size_t row, std::span<const float> sum);

 private:
  void begin_sum();
  bool read_kept(std::size_t rows);
  void add_rows(int exponent);
  void draw_column(std::span<float> column, std::size_t k) const;
  [[nodiscard]] std::byte* kept() const { return call_.feedback_at(elements_); }

  LowrankShape shape_;
  LowrankRows& rows_;
  const LowrankScale& scale_;
  const CallBuffers& call_;
  std::size_t elements_ = 0;
  std::vector<float> start_;  ///< P, column by column
  std::vector<float> basis_;  ///< column by column; while the round is encoded, this rank's sum
  std::vector<double> exact_;
  bool is_ready_ = false;
};

}  // namespace cohom
