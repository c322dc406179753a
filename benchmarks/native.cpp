#include "native.hpp"

#include "half.hpp"
#include "open_mpi_tuning.hpp"

#include <cstdlib>

namespace cohom::bench {
namespace {

template <class Half, Half (*narrow)(float)>
void add_halves(void* in, void* in_out, int* count, MPI_Datatype*) {
  const auto* a = static_cast<const Half*>(in);
  auto* b = static_cast<Half*>(in_out);
  for (int i = 0; i < *count; ++i) b[i] = narrow(to_float(a[i]) + to_float(b[i]));
}

/// A reduce is in place at its root alone.
const void* at_root(const void* input, const void* output, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return input == MPI_IN_PLACE && rank != 0 ? output : input;
}

}  // namespace

void allow_forced_algorithms() {
  constexpr int overwrite = 0;
  ::setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", overwrite);
}

NativeReduction::NativeReduction(MPI_Comm comm, ReductionKind collective, ElementType type,
                                 bool nonblocking)
    : collective_(collective) {
  MPI_Comm_size(comm, &ranks_);
  switch (type) {
    case ElementType::f32: datatype_ = MPI_FLOAT; break;
    case ElementType::f64: datatype_ = MPI_DOUBLE; break;
    case ElementType::f16:
    case ElementType::bf16: datatype_ = MPI_UINT16_T; break;
  }
  own_op_ = collective != ReductionKind::allgather && size_of(type) == 2;
  op_ = MPI_SUM;
  constexpr int commutative = 1;
  if (own_op_ && type == ElementType::f16)
    MPI_Op_create(add_halves<float16, to_float16>, commutative, &op_);
  if (own_op_ && type == ElementType::bf16)
    MPI_Op_create(add_halves<bfloat16, to_bfloat16>, commutative, &op_);

  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &duplicate);
  add(duplicate, "default", false);
  if (nonblocking) {
    MPI_Comm_dup(comm, &duplicate);
    add(duplicate, "nonblocking", true);
  }
  if (collective != ReductionKind::allreduce) return;
  for (const auto& [name, number] : tuned_algorithms)
    if (const MPI_Comm forced = duplicate_with_algorithm(comm, number); forced != MPI_COMM_NULL)
      add(forced, name, false);
}

void NativeReduction::add(MPI_Comm comm, std::string name, bool nonblocking) {
  if (own_op_) name += ", user op";
  candidates_.push_back({std::move(name), comm, nonblocking});
}

NativeReduction::~NativeReduction() {
  for (auto& candidate : candidates_) MPI_Comm_free(&candidate.comm);
  if (own_op_) MPI_Op_free(&op_);
}

void NativeReduction::run(const NativeCandidate& candidate, const void* input, void* output,
                          std::size_t count) const {
  const int elements = static_cast<int>(count);
  if (candidate.nonblocking) {
    MPI_Request request = MPI_REQUEST_NULL;
    start(input, output, elements, candidate.comm, request);
    for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return;
  }
  switch (collective_) {
    case ReductionKind::allreduce:
      MPI_Allreduce(input, output, elements, datatype_, op_, candidate.comm);
      return;
    case ReductionKind::reduce_scatter:
      MPI_Reduce_scatter_block(input, output, elements / ranks_, datatype_, op_, candidate.comm);
      return;
    case ReductionKind::allgather:
      MPI_Allgather(input, elements / ranks_, datatype_, output, elements / ranks_, datatype_,
                    candidate.comm);
      return;
    case ReductionKind::reduce:
      MPI_Reduce(at_root(input, output, candidate.comm), output, elements, datatype_, op_, 0,
                 candidate.comm);
  }
}

void NativeReduction::start(const void* input, void* output, int count, MPI_Comm comm,
                            MPI_Request& request) const {
  switch (collective_) {
    case ReductionKind::allreduce:
      MPI_Iallreduce(input, output, count, datatype_, op_, comm, &request);
      return;
    case ReductionKind::reduce_scatter:
      MPI_Ireduce_scatter_block(input, output, count / ranks_, datatype_, op_, comm, &request);
      return;
    case ReductionKind::allgather:
      MPI_Iallgather(input, count / ranks_, datatype_, output, count / ranks_, datatype_, comm,
                     &request);
      return;
    case ReductionKind::reduce:
      MPI_Ireduce(at_root(input, output, comm), output, count, datatype_, op_, 0, comm, &request);
  }
}

}  // namespace cohom::bench
