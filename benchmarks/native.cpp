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

}  // namespace

void allow_forced_algorithms() {
  constexpr int overwrite = 0;
  ::setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", overwrite);
}

NativeAllreduce::NativeAllreduce(MPI_Comm comm, ElementType type, bool nonblocking) {
  switch (type) {
    case ElementType::f32: datatype_ = MPI_FLOAT; break;
    case ElementType::f64: datatype_ = MPI_DOUBLE; break;
    case ElementType::f16:
    case ElementType::bf16: datatype_ = MPI_UINT16_T; break;
  }
  own_op_ = type == ElementType::f16 || type == ElementType::bf16;
  op_ = MPI_SUM;
  constexpr int commutative = 1;
  if (type == ElementType::f16) MPI_Op_create(add_halves<float16, to_float16>, commutative, &op_);
  if (type == ElementType::bf16)
    MPI_Op_create(add_halves<bfloat16, to_bfloat16>, commutative, &op_);

  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &duplicate);
  add(duplicate, "default", false);
  if (nonblocking) {
    MPI_Comm_dup(comm, &duplicate);
    add(duplicate, "nonblocking", true);
  }
  for (const auto& [name, number] : tuned_algorithms)
    if (const MPI_Comm forced = duplicate_with_algorithm(comm, number); forced != MPI_COMM_NULL)
      add(forced, name, false);
}

void NativeAllreduce::add(MPI_Comm comm, std::string name, bool nonblocking) {
  if (own_op_) name += ", user op";
  candidates_.push_back({std::move(name), comm, nonblocking});
}

NativeAllreduce::~NativeAllreduce() {
  for (auto& candidate : candidates_) MPI_Comm_free(&candidate.comm);
  if (own_op_) MPI_Op_free(&op_);
}

void NativeAllreduce::run(const NativeCandidate& candidate, const void* input, void* output,
                          std::size_t count) const {
  const int elements = static_cast<int>(count);
  if (!candidate.nonblocking) {
    MPI_Allreduce(input, output, elements, datatype_, op_, candidate.comm);
    return;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(input, output, elements, datatype_, op_, candidate.comm, &request);
  for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

}  // namespace cohom::bench
