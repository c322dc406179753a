// The kernels that there are for a device, as one table.

#include "kernels/table/device_table.hpp"

#include "kernels/device_runtime/block_kernels.hpp"
#include "kernels/exact/device/exact_rows.hpp"
#include "kernels/merge/device/merge_rows.hpp"
#include "kernels/packed/device/packed_rows.hpp"
#include "kernels/sample/device/sample_rows.hpp"
#include "kernels/sign/device/sign_rows.hpp"
#include "kernels/sketch/device/sketch_rows.hpp"
#include "kernels/sparse/device/sparse_rows.hpp"
#include "kernels/thc/device/thc_rows.hpp"

namespace cohom::kernels::device {
namespace {

constexpr auto block_kernels_of = []<class Body>() { return block_kernels<Body>(); };

}  // namespace

const KernelTable& table() {
  static const KernelTable kernels{.isa = Isa::device,
                                   .merge = merge,
                                   .finish_elements = finish_elements,
                                   .widen = widen,
                                   .thc = thc_row(),
                                   .packed = packed_row(),
                                   .exact = exact_row(),
                                   .sparse = sparse_row(),
                                   .sign = sign_row(),
                                   .sample = sample_row(),
                                   .bloom = bloom_row(),
                                   .placing = {},  // the host's
                                   .sketch = sketch_row(),
                                   .blocks = make_block_rows(block_kernels_of)};
  return kernels;
}

}  // namespace cohom::kernels::device
