#include "codecs/lowrank/lowrank.hpp"

#include "codecs/common/outlier_round.hpp"
#include "codecs/lowrank/lowrank_basis.hpp"
#include "codecs/lowrank/lowrank_options.hpp"
#include "codecs/lowrank/lowrank_products.hpp"
#include "codecs/lowrank/lowrank_rows.hpp"
#include "kernels/core/body/element.hpp"

#include <algorithm>
#include <array>

namespace cohom {
namespace {

/// Each row's products with the columns of the basis, as f32.
class LowrankPayload final : public Round {
 public:
  LowrankPayload(const LowrankShape& shape, LowrankRows& rows, const LowrankScale& scale,
                 LowrankBasis& basis)
      : Round({.name = "payload",
               .merge = {MergeKind::add_float, ElementType::f32},
               .time = RoundTime::payload}),
        shape_(shape),
        rows_(rows),
        scale_(scale),
        basis_(basis) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return shape_.words(shape_.rows(elements));
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  /// Calls visit(row of the matrix, its first element, its elements, its first product).
  template <class Visit>
  void for_each_row(const Piece& piece, Visit visit) const {
    std::size_t product = 0;
    for (std::size_t done = 0; done < piece.count; done += shape_.columns) {
      const std::size_t first = piece.first + done;
      visit(first / shape_.columns, first, std::min(shape_.columns, piece.count - done), product);
      product += shape_.rank;
    }
  }
  /// The row that products stand for.
  std::span<const float> row_of(std::span<const float> products);

  LowrankShape shape_;
  LowrankRows& rows_;
  const LowrankScale& scale_;
  LowrankBasis& basis_;
};

std::span<const float> LowrankPayload::row_of(std::span<const float> products) {
  const auto row = rows_.scratch();
  std::ranges::fill(row, 0.F);
  for (std::size_t k = 0; k < products.size(); ++k)
    add_multiple(products[k], basis_.column(k), row);
  return row;
}

std::size_t LowrankPayload::encode(std::size_t contributions, const Piece& piece, Payload out) {
  const std::size_t words = capacity(contributions, piece.count);
  const std::uint32_t code = scale_.code(piece);
  if (code == LowrankCode::outlier) {
    std::fill_n(out.begin(), words, std::uint64_t{0});
    return words;
  }
  const int exponent = code == 0 ? 0 : LowrankCode::exponent(code);
  basis_.prepare(piece);
  out[words - 1] = 0;  // the padding of a ragged last word
  for_each_row(piece, [&](std::size_t, std::size_t first, std::size_t count, std::size_t to) {
    std::array<float, LowrankOptions::most_rank> products;
    const auto row = rows_.read(first, count, exponent);
    for (std::size_t k = 0; k < shape_.rank; ++k) {
      products[k] = dot(row, basis_.column(k));
      kernels::body::store_raw(out.data(), to + k, products[k]);
    }
    if (rows_.feeds_back()) rows_.feed_back(row_of(std::span(products).first(shape_.rank)));
  });
  return words;
}

void LowrankPayload::decode(const Piece& piece, ConstPayload sum, std::size_t) {
  const std::uint32_t code = scale_.code(piece);
  if (code == LowrankCode::outlier) return;  // the outlier round writes all
  const int exponent = code == 0 ? 0 : LowrankCode::exponent(code);
  basis_.prepare(piece);  // where this rank has encoded nothing
  for_each_row(piece, [&](std::size_t row, std::size_t first, std::size_t count, std::size_t from) {
    std::array<float, LowrankOptions::most_rank> sums;
    for (std::size_t k = 0; k < shape_.rank; ++k)
      sums[k] = kernels::body::load_raw<float>(sum.data(), from + k);
    const auto own = std::span(sums).first(shape_.rank);
    if (code != 0) basis_.keep(row, own);
    rows_.write(first, count, row_of(own), exponent);
  });
}

class LowrankCodec final : public Codec {
 public:
  LowrankCodec(const CodecContext& context, const LowrankOptions& options)
      : type_(context.type),
        feeds_back_(options.error_feedback),
        shape_(options, context.elements),
        rows_(context, shape_, call_),
        scale_(rows_, call_),
        basis_(shape_, rows_, scale_, call_),
        payload_(shape_, rows_, scale_, basis_),
        outlier_round_(context, call_, [this](OutlierBlocks& blocks) { find_outliers(blocks); }) {
    add(scale_);
    add(basis_);
    add(payload_);
    add(outlier_round_);
  }

  [[nodiscard]] std::size_t block() const override { return shape_.columns; }
  [[nodiscard]] std::size_t state_bytes(std::size_t elements) const override {
    return feeds_back_ ? elements * feedback_size(type_) + basis_.kept_bytes(elements) : 0;
  }
  void reserve(std::size_t elements, std::size_t /*longest_piece*/) override {
    basis_.reserve(elements);
  }

 private:
  void start() override {
    scale_.start();
    basis_.start();
  }
  /// All of the vector, or nothing: a value that is not finite leaves no column as it was.
  void find_outliers(OutlierBlocks& blocks) {
    for (const Piece& piece : call_.pieces)
      if (scale_.code(piece) == LowrankCode::outlier) blocks.add(piece.first, piece.count);
  }

  ElementType type_;
  bool feeds_back_;
  LowrankShape shape_;
  LowrankRows rows_;
  LowrankScale scale_;
  LowrankBasis basis_;
  LowrankPayload payload_;
  OutlierRound outlier_round_;
};

// Four of 64 columns of a normal matrix have an eighth of its energy; 32 have three quarters.
constexpr CodecSample samples[] = {
    {.spec = "lowrank", .clamped = 1.3, .block_scale = false, .leaves_out = true},
    {.spec = "lowrank:rank=32,columns=64,error_feedback=on",
     .clamped = 1,
     .block_scale = false,
     .leaves_out = true}};

}  // namespace

std::unique_ptr<Codec> make_lowrank(const CodecContext& context) {
  return std::make_unique<LowrankCodec>(context, parse_lowrank_options(context.parameters));
}

const CodecRow& lowrank_codec() {
  static const CodecRow row{
      .info = {"lowrank", "what few directions of the vector as a matrix span, with error feedback",
               lowrank_parameters()},
      .make = make_lowrank,
      .device = {.why_none = "products of matrices are made on the host"},
      .samples = samples,
  };
  return row;
}

}  // namespace cohom
