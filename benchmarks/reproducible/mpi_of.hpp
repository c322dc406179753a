#pragma once
// What MPI's reductions take: types of elements, and operations on sums of our own.

#include <mpi.h>

#include <type_traits>

namespace cohom::bench {

template <class T>
MPI_Datatype mpi_type_of() {
  return std::is_same_v<T, float> ? MPI_FLOAT : MPI_DOUBLE;
}

/// `Sum` is plain bytes and has add(const Sum&).
template <class Sum>
class SumOp {
 public:
  static_assert(std::is_trivially_copyable_v<Sum>);

  SumOp() {
    constexpr int commutative = 1;
    MPI_Type_contiguous(sizeof(Sum), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
    MPI_Op_create(add, commutative, &op_);
  }
  SumOp(const SumOp&) = delete;
  SumOp& operator=(const SumOp&) = delete;
  ~SumOp() {
    MPI_Op_free(&op_);
    MPI_Type_free(&type_);
  }

  [[nodiscard]] MPI_Datatype type() const { return type_; }
  [[nodiscard]] MPI_Op op() const { return op_; }

 private:
  static void add(void* in, void* in_out, int* count, MPI_Datatype*) {
    const auto* from = static_cast<const Sum*>(in);
    auto* to = static_cast<Sum*>(in_out);
    for (int i = 0; i < *count; ++i) to[i].add(from[i]);
  }

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op op_ = MPI_OP_NULL;
};

}  // namespace cohom::bench
