// The kernels that there are for a device, as one table.

#include "kernels/table/device_table.hpp"

#include "kernels/merge/device/merge_rows.hpp"
#include "kernels/packed/device/packed_rows.hpp"
#include "kernels/sample/device/sample_rows.hpp"
#include "kernels/sign/device/sign_rows.hpp"
#include "kernels/sketch/device/sketch_rows.hpp"
#include "kernels/sparse/device/sparse_rows.hpp"
#include "kernels/thc/device/thc_rows.hpp"

#include <algorithm>
#include <array>

namespace cohom::kernels::device {
namespace {

bool has(const ThcKernels& row) {
  return row.measure != nullptr && row.encode != nullptr && row.widen != nullptr &&
         row.decode != nullptr;
}
bool has(const PackedKernels& row) {
  return row.measure != nullptr && row.encode != nullptr && row.merge != nullptr &&
         row.shift != nullptr && row.decode != nullptr;
}
bool has(const SparseKernels& row) {
  return row.scan != nullptr && row.count_bits != nullptr && row.compact != nullptr &&
         row.expand != nullptr;
}
bool has(const SignKernels& row) {
  return row.measure != nullptr && row.pack != nullptr && row.pack_feedback != nullptr &&
         row.count != nullptr && row.majority != nullptr && row.expand != nullptr &&
         row.expand_counts != nullptr;
}
bool has(const SampleKernels& row) {
  return row.keep_own != nullptr && row.gather_own != nullptr && row.place != nullptr;
}
bool has(const BloomKernels& row) { return row.insert != nullptr && row.find != nullptr; }
bool has(const SketchKernels& row) {
  return row.largest != nullptr && row.unheld != nullptr && row.insert != nullptr &&
         row.peel != nullptr && row.keep_unknown != nullptr && row.gather != nullptr &&
         row.scatter != nullptr;
}

}  // namespace

const KernelTable& table() {
  static const KernelTable kernels{.isa = Isa::device,
                                   .merge = merge,
                                   .finish_elements = finish_elements,
                                   .thc = thc_row(),
                                   .packed = packed_row(),
                                   .sparse = sparse_row(),
                                   .sign = sign_row(),
                                   .sample = sample_row(),
                                   .bloom = bloom_row(),
                                   .placing = {},  // the host's
                                   .sketch = sketch_row()};
  return kernels;
}

bool supports(std::string_view codec) {
  const KernelTable& kernels = table();
  if (codec == "raw") return true;
  if (codec == "thc") return has(kernels.thc);
  if (codec == "packed") return has(kernels.packed);
  if (codec == "signcount") return has(kernels.sign);
  if (codec == "marsit") return has(kernels.sign) && has(kernels.sample);
  if (codec == "sparse") return has(kernels.sparse) && has(kernels.bloom);
  if (codec == "sketch") return has(kernels.sparse) && has(kernels.bloom) && has(kernels.sketch);
  if (codec == "sparse+thc") return has(kernels.sparse) && has(kernels.bloom) && has(kernels.thc);
  return false;
}

}  // namespace cohom::kernels::device
