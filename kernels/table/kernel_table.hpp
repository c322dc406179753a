#pragma once
// The kernels of one instruction set, as a row of function pointers. Called once a piece.
//
// Pointers need no alignment unless said otherwise; sizes may be zero.

#include "kernels/core/isa.hpp"
#include "kernels/exact/exact.hpp"
#include "kernels/merge/widening.hpp"
#include "kernels/packed/packed.hpp"
#include "kernels/sample/sample.hpp"
#include "kernels/sign/sign.hpp"
#include "kernels/sketch/integer_sketch.hpp"
#include "kernels/sketch/placing.hpp"
#include "kernels/sparse/bloom.hpp"
#include "kernels/sparse/sparse.hpp"
#include "kernels/table/block_bodies.hpp"
#include "kernels/thc/thc.hpp"

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

struct KernelTable {
  Isa isa;

  /// destination[i] := sources[0][i] merged with sources[1][i] ... left to right, over `bytes`
  /// bytes (a multiple of 8, or of the element size for add_float). `destination` may be one of the
  /// sources. add_float of f16 and bf16 goes through f32 with one rounding a merge, and every NaN
  /// that it writes is the canonical one (sign 0, quiet bit, nothing else). add_packed has a kernel
  /// of its own, packed.merge.
  void (*merge)(Merge merge, const void* const* sources, std::size_t source_count,
                std::size_t bytes, void* destination);

  /// destination[i] := source[i], NaNs made canonical; with divisor > 1 the quotient
  /// source[i] / divisor (f16 and bf16 through f32). In place allowed.
  void (*finish_elements)(ElementType type, const void* source, std::size_t elements,
                          std::uint64_t divisor, void* destination);

  /// Adds payloads in lanes: sum := the sources, none of whose lanes are wider than `width` bits,
  /// the sum's. A value has room there. `sum` is none of the sources.
  void (*widen)(const LaneBlocks& run, const LaneSource* sources, std::size_t source_count,
                unsigned width, std::uint64_t* sum);

  ThcKernels thc;
  PackedKernels packed;
  ExactKernels exact;
  SparseKernels sparse;
  SignKernels sign;
  SampleKernels sample;
  BloomKernels bloom;
  PlacingKernels placing;  ///< null in a device's table
  SketchKernels sketch;
  BlockRows blocks;  ///< blocks.of<Body>()
};

/// The kernels of one supported instruction set.
const KernelTable& kernel_table(Isa isa);

/// The kernels of active_isa().
const KernelTable& kernel_table();

}  // namespace cohom::kernels
