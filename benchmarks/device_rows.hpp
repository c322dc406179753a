#pragma once
// What device_bench times: calls of a device's kernels on one vector, and the bytes that each must
// move.

#include "codecs/thc/thc_options.hpp"
#include "device_memory.hpp"
#include "kernels/device_runtime/device_context.hpp"
#include "kernels/table/kernel_table.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cohom::bench {

struct DeviceRow {
  std::string name;
  double bytes;               ///< read and written at least
  std::function<void()> run;  ///< puts the work into the context's stream
};

/// The vectors and words that the rows work on. The context must be the thread's while they run.
class DeviceRows {
 public:
  DeviceRows(kernels::DeviceContext& context, std::size_t bytes);
  DeviceRows(const DeviceRows&) = delete;
  DeviceRows& operator=(const DeviceRows&) = delete;

  /// A copy first.
  [[nodiscard]] std::vector<DeviceRow> all() const;

 private:
  void add_merges(std::vector<DeviceRow>& rows) const;
  void add_thc(std::vector<DeviceRow>& rows) const;
  void add_signs(std::vector<DeviceRow>& rows) const;
  void add_sparse(std::vector<DeviceRow>& rows) const;
  void add_sketch(std::vector<DeviceRow>& rows) const;
  void add_packed(std::vector<DeviceRow>& rows) const;

  kernels::DeviceContext& context_;
  const kernels::KernelTable& kernels_;
  std::size_t count_;
  double bytes_;
  kernels::ThcFormat format_;
  kernels::ThcRun thc_run_;
  kernels::SignRun sign_run_;
  kernels::SparseRun sparse_run_;
  kernels::PackedRun packed_run_;
  kernels::PackedQuantizer quantizer_;
  DeviceMemory input_, other_, output_, state_, words_, sum_, bitmap_;

  // Of the host, as kernels write and read them.
  mutable std::vector<std::uint32_t> codes_, bins_, outliers_;
  mutable std::vector<kernels::SignBlock> blocks_;
  mutable std::vector<kernels::SketchPart> parts_;
  mutable DeviceMemory compacted_, scratch_;  ///< of sketches
  mutable std::size_t packed_words_ = 0;
  std::vector<double> scales_;
};

}  // namespace cohom::bench
