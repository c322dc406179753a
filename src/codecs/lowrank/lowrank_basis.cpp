#include "codecs/lowrank/lowrank_basis.hpp"

#include "codecs/common/agreed_value.hpp"
#include "codecs/lowrank/lowrank_products.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/core/body/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace cohom {

std::size_t LowrankScale::encode(std::size_t, const Piece& piece, Payload out) {
  own_ = std::max(own_, rows_.code_of(piece));
  if (call_.is_last(piece)) out[0] = own_;
  return 1;
}

std::uint32_t LowrankScale::code(const Piece& piece) const {
  const std::uint64_t word = agreed(piece)[0];
  constexpr std::uint64_t lowest = LowrankCode::offset + LowrankCode::least,
                          highest = LowrankCode::offset + LowrankCode::largest;
  const bool is_code =
      word == 0 || word == LowrankCode::outlier || (word >= lowest && word <= highest);
  if (!is_code || word < own_)
    refuse_agreed("lowrank", "scale", word,
                  "0, an exponent, or " + std::to_string(LowrankCode::outlier) +
                      ", and at least this rank's " + std::to_string(own_));
  return static_cast<std::uint32_t>(word);
}

LowrankBasis::LowrankBasis(const LowrankShape& shape, LowrankRows& rows, const LowrankScale& scale,
                           const CallBuffers& call)
    : Round({.name = "basis",
             .merge = {MergeKind::add_float, ElementType::f32},
             .scope = RoundScope::vector}),
      shape_(shape),
      rows_(rows),
      scale_(scale),
      call_(call) {}

void LowrankBasis::reserve(std::size_t elements) {
  elements_ = elements;
  start_.resize(shape_.rows(elements) * shape_.rank);
  basis_.resize(shape_.columns * shape_.rank);
  exact_.resize(std::max(start_.size(), basis_.size()));
}

/// Uniform from -1 to 1, alike on all ranks.
void LowrankBasis::draw_column(std::span<float> column, std::size_t k) const {
  using namespace kernels::body;
  const std::uint64_t draws = key(0, call_.step, Stream::projection, 0);
  for (std::size_t row = 0; row < column.size(); ++row) {
    const std::uint32_t drawn = draw(frame(draws, row), static_cast<std::uint32_t>(k));
    column[row] = static_cast<float>(static_cast<std::int32_t>(drawn)) * 0x1p-31F;
  }
}

void LowrankBasis::begin_sum() {
  const std::size_t rows = shape_.rows(elements_);
  std::ranges::fill(basis_, 0.F);
  if (rows <= shape_.rank) {
    std::ranges::fill(start_, 0.F);
    for (std::size_t row = 0; row < rows; ++row) start_[row * rows + row] = 1;
    return;
  }
  const bool continues = read_kept(rows);
  for (std::size_t k = 0; k < shape_.rank; ++k) {
    const auto column = std::span(start_).subspan(k * rows, rows);
    const auto is_zero = [](float value) { return value == 0; };
    if (!continues || std::ranges::all_of(column, is_zero)) draw_column(column, k);
  }
}

/// Whether there is something to go on from. A NaN, which came by a message that was changed, must
/// not stay.
bool LowrankBasis::read_kept(std::size_t rows) {
  if (!rows_.feeds_back()) return false;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t k = 0; k < shape_.rank; ++k)
      start_[k * rows + row] = kernels::body::load_raw<float>(kept(), row * shape_.rank + k);
  if (!std::ranges::all_of(start_, [](float value) { return std::isfinite(value); })) return false;
  orthonormalise(start_, rows, exact_);
  return true;
}

/// Pieces come in an order that depends on the algorithm, and sums of floats on theirs: so all rows
/// are added with the last piece, from the first to the last.
std::size_t LowrankBasis::encode(std::size_t, const Piece& piece, Payload out) {
  const std::size_t words = shape_.words(shape_.columns);
  if (!call_.is_last(piece)) return words;
  begin_sum();
  const std::uint32_t code = scale_.code(piece);
  if (code == LowrankCode::outlier) {
    // Now, as the outlier round may begin before the payload is encoded.
    for (const Piece& of_vector : call_.pieces) rows_.feed_back_all(of_vector);
  } else if (code != 0) {
    add_rows(LowrankCode::exponent(code));
  }
  out[words - 1] = 0;  // the padding of a ragged last word
  std::memcpy(out.data(), basis_.data(), basis_.size() * sizeof(float));
  return words;
}

void LowrankBasis::add_rows(int exponent) {
  const std::size_t rows = shape_.rows(elements_);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t first = i * shape_.columns;
    const auto row = rows_.read(first, std::min(shape_.columns, elements_ - first), exponent);
    for (std::size_t k = 0; k < shape_.rank; ++k)
      add_multiple(start_[k * rows + i], row,
                   std::span(basis_).subspan(k * shape_.columns, shape_.columns));
  }
}

void LowrankBasis::prepare(const Piece& piece) {
  if (is_ready_) return;
  std::memcpy(basis_.data(), agreed(piece).data(), basis_.size() * sizeof(float));
  orthonormalise(basis_, shape_.columns, exact_);
  is_ready_ = true;
}

void LowrankBasis::keep(std::size_t row, std::span<const float> sum) {
  if (!rows_.feeds_back()) return;
  for (std::size_t k = 0; k < shape_.rank; ++k)
    kernels::body::store_raw<float>(kept(), row * shape_.rank + k, sum[k]);
}

}  // namespace cohom
