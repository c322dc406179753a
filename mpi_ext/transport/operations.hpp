#pragma once
// The reductions that this library asks of MPI, each tried once a process. Some MPI libraries
// compare unsigned integers as signed ones: MPICH 4.0 in MPI_MAX (pmodels/mpich#6083), Open MPI 4.1
// in MPI_MAX of MPI_UNSIGNED_LONG on some processors (open-mpi/ompi#10276). All ranks must pass the
// same operation to a reduction, so they agree on which they take.

#include <mpi.h>

#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>

namespace cohom::mpi {

enum class OperationId { add_u64, or_u64, max_u32, add_f32, add_f64, max_u8, max_u16 };
inline constexpr std::size_t operation_count = 7;

using OperationSet = std::bitset<operation_count>;  ///< by the number of the OperationId

struct Operation {
  std::string_view name;  ///< e.g. "MPI_MAX of MPI_UINT32_T"
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  bool own = false;  ///< not MPI's: a function of ours
};

/// What MPI gets wrong in this process. Local; tried out at the first call, which must come after
/// MPI_Init. @throws Error(transport)
OperationSet wrong_operations();

class Operations {
 public:
  /// MPI's own, but ours for those that it gets wrong on any rank, which is logged once. `wrong` is
  /// what this rank says of itself. Collective. @throws Error(transport)
  static Operations agreed(MPI_Comm comm, OperationSet wrong = wrong_operations());
  /// Only ours: what agreed() may fall back to. @throws Error(transport)
  static const Operations& own();

  [[nodiscard]] const Operation& operator[](OperationId id) const {
    return all_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const std::array<Operation, operation_count>& all() const { return all_; }

 private:
  Operations() = default;

  /// Never freed: a call may start a reduction until MPI_Finalize, which takes them with it.
  std::array<Operation, operation_count> all_;
};

/// Whether `op` does what `id` stands for, tried by MPI_Reduce_local on numbers at which signed and
/// unsigned arithmetic part, each alone and all as one vector. @throws Error(transport)
bool computes(MPI_Op op, OperationId id);

}  // namespace cohom::mpi
