// Signs of elements and elements from signs: the device's form of the body.

#include "kernels/device_runtime/block_kernels.hpp"
#include "kernels/sign/body/sign_blocks.hpp"
#include "kernels/sign/device/sign_rows.hpp"

namespace cohom::kernels::device {
namespace {

using ByBody = SignsByBody<encode_blocks<body::Signs>, decode_blocks<body::Signs>>;

}  // namespace

SignKernels sign_row() {
  return {measure_signs,     ByBody::pack,   ByBody::pack_feedback, count_signs,
          majority_of_signs, ByBody::expand, expand_sign_counts};
}

}  // namespace cohom::kernels::device
