// All bodies, once for each compiled target.

#include "kernels/table/block_rows.hpp"
#include "kernels/core/cpu/highway_targets.hpp"
#include "kernels/core/cpu/scalar_blocks.hpp"

#if COHOM_HIGHWAY_TARGETS

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/table/block_rows.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernels/core/cpu/block_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

BlockRows block_rows() {
  return make_block_rows([]<class Body>() { return vector_blocks<Body>(); });
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

BlockRows vector_block_rows(Isa isa) { return COHOM_ROW_OF(isa, block_rows); }

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
BlockRows vector_block_rows(Isa) { return {}; }
}  // namespace cohom::kernels

#endif

#if !COHOM_HIGHWAY_TARGETS || HWY_ONCE
namespace cohom::kernels {

BlockRows scalar_block_rows() {
  return make_block_rows([]<class Body>() { return scalar_blocks<Body>(); });
}

}  // namespace cohom::kernels
#endif
