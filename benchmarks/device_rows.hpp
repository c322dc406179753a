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
  /// The whole vector, as each family is told of it.
  struct Runs {
    kernels::ThcRun thc;
    kernels::SignRun sign;
    kernels::SparseRun sparse;
    kernels::PackedRun packed;
  };
  struct Vectors {
    DeviceMemory input, other, output, state, words, sum, bitmap;
  };
  struct Sketches {
    DeviceMemory compacted, scratch;
    std::vector<kernels::SketchPart> parts = {};
  };
  /// In the host's memory, as kernels write and read it.
  struct Found {
    std::vector<std::uint32_t> codes, bins, outliers;
    std::vector<kernels::SignBlock> blocks;
    std::size_t packed_words = 0;
  };

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
  kernels::PackedQuantizer quantizer_;
  std::vector<double> scales_;
  Runs runs_;
  Vectors vectors_;
  mutable Sketches sketches_;
  mutable Found found_;
};

}  // namespace cohom::bench
