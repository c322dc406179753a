#pragma once
// LaneSums: adds partial sums in lanes, which are the wider the more contributions they have room
// for.

#include "base/worker_pool.hpp"
#include "codecs/common/round.hpp"
#include "kernels/table/kernel_table.hpp"

#include <cstddef>
#include <vector>

namespace cohom {

class LaneSums {
 public:
  /// Of blocks of `block` values. The kernels outlive it. Takes memory for sums of `ranks`, once
  /// for each of the `workers` (CodecContext's).
  LaneSums(const kernels::KernelTable& kernels, std::size_t block, std::size_t ranks,
           std::size_t workers);

  /// Lanes of `width` bits in `words` join the next sum of this thread.
  void add(ConstPayload words, unsigned width);
  /// sum := what was added, in lanes of `width` bits, the widest of all; nothing is added then.
  void write(std::size_t elements, unsigned width, Payload sum);

 private:
  const kernels::KernelTable& kernels_;
  std::size_t block_;
  struct Added {
    std::vector<kernels::LaneSource> sources;
    std::vector<const void*> words;
  };
  PerWorker<Added> added_;
};

}  // namespace cohom
