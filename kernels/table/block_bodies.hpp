#pragma once
// The bodies (core/body/block.hpp) whose kernels are all made by the driver: a row each. Every
// instruction set and every device has them.

#include "kernels/core/block_kernels.hpp"
#include "kernels/sketch/body/sketch_blocks.hpp"

namespace cohom::kernels {

template <class... Bodies>
struct BlockTable : BlockKernels<Bodies>... {
  /// A body's kernels.
  template <class Body>
  [[nodiscard]] constexpr const BlockKernels<Body>& of() const {
    return *this;
  }
};

/// Calls make.template operator()<Body>() for each.
template <class... Bodies, class Make>
constexpr BlockTable<Bodies...> make_block_table(BlockTable<Bodies...>*, Make make) {
  return {make.template operator()<Bodies>()...};
}

using BlockRows = BlockTable<  //
    body::SketchLargest,       //
    body::SketchHeld>;

/// Of all bodies, what `make` returns for one.
template <class Make>
constexpr BlockRows make_block_rows(Make make) {
  return make_block_table(static_cast<BlockRows*>(nullptr), make);
}

}  // namespace cohom::kernels
