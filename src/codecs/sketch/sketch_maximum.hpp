#pragma once
// SketchMaximum: the round in which ranks agree on the exponent that elements become integers with.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/sketch/sketch_cells.hpp"
#include "codecs/sketch/sketch_exponent.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom {

class SketchMaximum final : public Round {
 public:
  /// `cells` and `call` outlive it.
  SketchMaximum(const CodecContext& context, SketchCells& cells, const CallBuffers& call);

  void reserve(std::size_t elements);
  void start();
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return elements != 0;
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;

  /// Tells the cells what was agreed on, before anything is made a cell.
  /// @throws Error(transport) for what no rank can have sent
  void tell_cells() const;
  /// Whether a block of 256 elements has numbers that the cells cannot hold; of vectors of the
  /// host.
  [[nodiscard]] bool exceeds_cells(std::size_t block) const {
    return memory_.is_host() && exponent_.exceeds(block, cells_.exponent());
  }

 private:
  ElementType type_;
  const kernels::KernelTable& kernels_;  ///< of the elements
  Memory& memory_;
  SketchCells& cells_;
  const CallBuffers& call_;
  SketchExponent exponent_;           ///< of vectors of the host
  std::vector<std::uint32_t> found_;  ///< of a piece on a device, by block
  std::size_t elements_ = 0;
  int own_exponent_ = 0;  ///< of the call in flight
};

}  // namespace cohom
