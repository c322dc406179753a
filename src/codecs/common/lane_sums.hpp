#pragma once
// LaneSums: adds partial sums in lanes, which are the wider the more contributions they have room
// for.

#include "codecs/common/round.hpp"
#include "kernels/table/kernel_table.hpp"

#include <cstddef>
#include <vector>

namespace cohom {

class LaneSums {
 public:
  /// Of blocks of `block` values. The kernels outlive it. Takes memory for sums of `ranks`.
  LaneSums(const kernels::KernelTable& kernels, std::size_t block, std::size_t ranks);

  /// Lanes of `width` bits in `words` join the next sum.
  void add(ConstPayload words, unsigned width);
  /// sum := what was added, in lanes of `width` bits, the widest of all; nothing is added then.
  void write(std::size_t elements, unsigned width, Payload sum);

 private:
  const kernels::KernelTable& kernels_;
  std::size_t block_;
  std::vector<kernels::LaneSource> sources_;
  std::vector<const void*> words_;
};

}  // namespace cohom
