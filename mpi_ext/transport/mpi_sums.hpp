#pragma once
// MpiSums: MPI_Allreduce, MPI_Reduce_scatter_block, MPI_Reduce and MPI_Allgather of whole vectors,
// for algorithm=native.

#include "mpi_ext/base/owned_comm.hpp"

#include <cohom/native_sums.hpp>

#include <mpi.h>

#include <memory>
#include <string>

namespace cohom::mpi {

class MpiSums final : public NativeSums {
 public:
  /// Duplicates `comm`. Collective. @throws Error(transport)
  explicit MpiSums(MPI_Comm comm) : comm_(comm) {}

  [[nodiscard]] std::string why_not(const NativeBuffers& buffers) const override;
  void add(const NativeBuffers& buffers) override;
  [[nodiscard]] std::unique_ptr<NativeSum> start(const NativeBuffers& buffers) override;

 private:
  OwnedComm comm_;
};

}  // namespace cohom::mpi
