#pragma once
// MpiAllreduce: MPI_Allreduce of whole vectors, for algorithm=native.

#include "mpi_ext/base/owned_comm.hpp"

#include <cohom/native_allreduce.hpp>

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string_view>

namespace cohom::mpi {

class MpiAllreduce final : public NativeAllreduce {
 public:
  /// Duplicates `comm`. Collective. @throws Error(transport)
  explicit MpiAllreduce(MPI_Comm comm) : comm_(comm) {}

  [[nodiscard]] std::string_view name() const override { return "MPI_Allreduce"; }
  [[nodiscard]] bool adds(ElementType type) const override;
  void add(const void* input, void* output, std::size_t count, ElementType type) override;
  [[nodiscard]] std::unique_ptr<NativeSum> start(const void* input, void* output, std::size_t count,
                                                 ElementType type) override;

 private:
  OwnedComm comm_;
};

}  // namespace cohom::mpi
