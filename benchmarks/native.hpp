#pragma once
// The reduction that the MPI library itself offers, in every form worth comparing with.

#include <cohom/element_type.hpp>
#include <cohom/reduction_kind.hpp>

#include <mpi.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cohom::bench {

/// Call before MPI_Init. Open MPI reads its own choice of algorithm when a communicator is made,
/// but only with coll_tuned_use_dynamic_rules set from the start; with it and no algorithm named,
/// Open MPI decides as it always does. A value the user has set stays.
void allow_forced_algorithms();

struct NativeCandidate {
  std::string name;
  MPI_Comm comm = MPI_COMM_NULL;
  bool nonblocking = false;
};

/// Sums vectors natively. What every candidate does is MPI_Allreduce (or MPI_Iallreduce and
/// MPI_Test) with MPI_SUM; Open MPI's are also forced to its ring and to Rabenseifner's algorithm.
/// Of a reduce_scatter, of a reduce to rank 0 and of an allgather there is MPI's default alone.
/// f16 and bf16, which MPI lacks, are summed by an MPI_Op of ours, and the names say so.
class NativeReduction {
 public:
  /// Collective over `comm`.
  NativeReduction(MPI_Comm comm, ReductionKind collective, ElementType type, bool nonblocking);
  NativeReduction(const NativeReduction&) = delete;
  NativeReduction& operator=(const NativeReduction&) = delete;
  /// Collective.
  ~NativeReduction();

  [[nodiscard]] std::span<const NativeCandidate> candidates() const { return candidates_; }

  /// Collective, of a vector of `count` elements; of an allgather `input` is this rank's part of
  /// it. `input` may be MPI_IN_PLACE.
  void run(const NativeCandidate& candidate, const void* input, void* output,
           std::size_t count) const;

 private:
  void start(const void* input, void* output, int count, MPI_Comm comm, MPI_Request& request) const;
  void add(MPI_Comm comm, std::string name, bool nonblocking);

  ReductionKind collective_;
  int ranks_ = 1;
  std::vector<NativeCandidate> candidates_;
  MPI_Datatype datatype_ = MPI_DATATYPE_NULL;
  MPI_Op op_ = MPI_OP_NULL;
  bool own_op_ = false;
};

}  // namespace cohom::bench
