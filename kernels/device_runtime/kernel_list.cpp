#include "kernels/device_runtime/kernel_list.hpp"

#include <vector>

namespace cohom::kernels::device {
namespace {

/// Made by the first kernel that is listed, whichever it is.
std::vector<LoadKernel>& kernel_list() {
  static std::vector<LoadKernel> list;
  return list;
}

}  // namespace

bool list_kernel(LoadKernel load) {
  kernel_list().push_back(load);
  return true;
}

void load_kernels() {
  for (const LoadKernel load : kernel_list()) load();
}

}  // namespace cohom::kernels::device
