#pragma once
// CodecContext: what a codec is told when a plan makes it.

#include "kernels/table/kernel_table.hpp"
#include "memory/memory.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace cohom {

/// Parameters as the user gave them, by name ("bits" -> "4"). Names compare with string_view.
using Parameters = std::map<std::string, std::string, std::less<>>;

struct CodecContext {
  int rank = 0;
  int ranks = 1;
  ElementType type = ElementType::f32;
  std::uint64_t divisor = 1;  ///< 1 for a sum, `ranks` for a mean: applied once, at the very end
  const kernels::KernelTable& kernels;  ///< of `memory`; outlives the codec
  Parameters parameters = {};
  /// Where elements, feedback and the payload's words lie. The words of all other rounds are the
  /// host's.
  Memory& memory = host_memory();
  const kernels::KernelTable* host_kernels = nullptr;  ///< null: `kernels` are
  std::size_t elements = 0;                            ///< of the vector; 0: not known yet
  bool mean = false;                                   ///< what `divisor` does not say of one rank
  std::size_t workers = 0;  ///< of the pool whose workers may run slices of the codec's rounds

  [[nodiscard]] const kernels::KernelTable& on_host() const {
    return host_kernels != nullptr ? *host_kernels : kernels;
  }
};

}  // namespace cohom
