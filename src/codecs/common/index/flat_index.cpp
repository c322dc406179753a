#include "codecs/common/index/union_index.hpp"

#include <algorithm>

namespace cohom {
namespace {

using kernels::bitmap_words;

class BitmapRound final : public Round {
 public:
  explicit BitmapRound(const IndexSetup& setup)
      : Round(index_traits(setup, PayloadLength::fixed)), own_(setup.own) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return bitmap_words(elements);
  }
  std::size_t encode(std::size_t, const Piece& piece, Payload out) override {
    own_.scan(piece);
    std::copy_n(own_.bits(piece), bitmap_words(piece.count), out.data());
    return bitmap_words(piece.count);
  }
  [[nodiscard]] ConstPayload bits_of(const Piece& piece) const { return agreed(piece); }

 private:
  OwnPositions& own_;
};

class FlatIndex final : public UnionIndex {
 public:
  explicit FlatIndex(const IndexSetup& setup) : bitmap_(setup) {}

  [[nodiscard]] std::span<Round* const> rounds() override { return rounds_; }
  void reserve(std::size_t) override {}
  ConstPayload bits_of(const Piece& piece) override { return bitmap_.bits_of(piece); }

 private:
  BitmapRound bitmap_;
  Round* rounds_[1] = {&bitmap_};
};

}  // namespace

std::unique_ptr<UnionIndex> make_flat_index(const IndexSetup& setup) {
  return std::make_unique<FlatIndex>(setup);
}

}  // namespace cohom
