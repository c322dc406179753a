#pragma once
// CpuSet: hardware threads, as the system takes and gives them.

#include <sched.h>

#include <cstddef>
#include <memory>

namespace cohom {

struct FreeCpus {
  void operator()(cpu_set_t* cpus) const { CPU_FREE(cpus); }
};
/// Has CPU_ALLOC_SIZE(threads) bytes.
using CpuSet = std::unique_ptr<cpu_set_t, FreeCpus>;

/// None of so many hardware threads. Null: there is no memory.
inline CpuSet make_cpu_set(std::size_t threads) {
  CpuSet cpus(CPU_ALLOC(threads));
  if (cpus) CPU_ZERO_S(CPU_ALLOC_SIZE(threads), cpus.get());
  return cpus;
}

}  // namespace cohom
