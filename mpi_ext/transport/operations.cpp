#include "mpi_ext/transport/operations.hpp"

#include "base/float_mode.hpp"
#include "base/log.hpp"
#include "mpi_ext/base/mpi_check.hpp"

#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace cohom::mpi {

namespace {

struct Largest {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

/// An MPI_User_function. MPI may call it from any of its functions, in the caller's mode.
template <class T, class Merge>
void reduce(void* in, void* in_out, int* count, MPI_Datatype* /*type*/) {
  const DefaultFloatMode mode;
  const T* const from = static_cast<const T*>(in);
  T* const to = static_cast<T*>(in_out);
  for (int i = 0; i < *count; ++i) to[i] = Merge{}(from[i], to[i]);
}

/// Zero, small ones, and where a sign bit begins: around 2^7, 2^15, 2^31 and 2^63, as far as T
/// goes.
template <std::integral T>
std::vector<T> telling_numbers() {
  std::vector<T> numbers{0, 1, static_cast<T>(~T{0})};
  for (const int bit : {7, 15, 31, 63})
    for (const std::uint64_t offset : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}})
      numbers.push_back(static_cast<T>((std::uint64_t{1} << bit) + offset));
  return numbers;
}

/// No NaN comes out of their sums: of NaNs only what they are is equal everywhere, not their bits.
template <std::floating_point T>
std::vector<T> telling_numbers() {
  using Limits = std::numeric_limits<T>;
  return {T(0),
          T(-0.0),
          T(1),
          T(-1.5),
          T(1) / 3,
          -Limits::min(),
          Limits::min(),
          Limits::max() / 4,
          Limits::infinity(),
          Limits::denorm_min()};
}

/// Whether MPI's operation gives the bits of `ours` on every pair of telling numbers.
template <class T>
bool agree(MPI_Op op, MPI_Datatype type, MPI_User_function* ours) {
  const DefaultFloatMode mode;
  std::vector<T> in, sum;
  for (const T a : telling_numbers<T>())
    for (const T b : telling_numbers<T>()) {
      in.push_back(a);
      sum.push_back(b);
    }
  std::vector<T> expected = sum, one_by_one = sum;
  int count = static_cast<int>(in.size());
  ours(in.data(), expected.data(), &count, &type);
  check(MPI_Reduce_local(in.data(), sum.data(), count, type, op), "MPI_Reduce_local");
  for (std::size_t i = 0; i < in.size(); ++i)  // vectors and what is left over go different ways
    check(MPI_Reduce_local(&in[i], &one_by_one[i], 1, type, op), "MPI_Reduce_local");
  const std::size_t bytes = in.size() * sizeof(T);
  return std::memcmp(sum.data(), expected.data(), bytes) == 0 &&
         std::memcmp(one_by_one.data(), expected.data(), bytes) == 0;
}

struct Definition {
  Operation mpis;
  MPI_User_function* ours;
  bool (*agree)(MPI_Op, MPI_Datatype, MPI_User_function*);
};

template <class T, class Merge>
Definition definition(std::string_view name, MPI_Datatype type, MPI_Op op) {
  return {{.name = name, .type = type, .op = op}, reduce<T, Merge>, agree<T>};
}

/// Not a constant: MPI's handles need not be.
Definition definition_of(OperationId id) {
  switch (id) {
    case OperationId::add_u64:
      return definition<std::uint64_t, std::plus<>>("MPI_SUM of MPI_UINT64_T", MPI_UINT64_T,
                                                    MPI_SUM);
    case OperationId::or_u64:
      return definition<std::uint64_t, std::bit_or<>>("MPI_BOR of MPI_UINT64_T", MPI_UINT64_T,
                                                      MPI_BOR);
    case OperationId::max_u32:
      return definition<std::uint32_t, Largest>("MPI_MAX of MPI_UINT32_T", MPI_UINT32_T, MPI_MAX);
    case OperationId::max_u8:
      return definition<std::uint8_t, Largest>("MPI_MAX of MPI_UINT8_T", MPI_UINT8_T, MPI_MAX);
    case OperationId::max_u16:
      return definition<std::uint16_t, Largest>("MPI_MAX of MPI_UINT16_T", MPI_UINT16_T, MPI_MAX);
    case OperationId::add_f32:
      return definition<float, std::plus<>>("MPI_SUM of MPI_FLOAT", MPI_FLOAT, MPI_SUM);
    case OperationId::add_f64: break;
  }
  return definition<double, std::plus<>>("MPI_SUM of MPI_DOUBLE", MPI_DOUBLE, MPI_SUM);
}

Operation own_operation(OperationId id) {
  const Definition definition = definition_of(id);
  Operation operation = definition.mpis;
  operation.own = true;
  check(MPI_Op_create(definition.ours, 1, &operation.op), "MPI_Op_create");
  return operation;
}

/// By an operation that is no reduction.
OperationSet wrong_on_any_rank(MPI_Comm comm, OperationSet wrong) {
  int ranks = 0;
  check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  const auto own = static_cast<unsigned char>(wrong.to_ulong());
  std::vector<unsigned char> all(static_cast<std::size_t>(ranks));
  check(MPI_Allgather(&own, 1, MPI_BYTE, all.data(), 1, MPI_BYTE, comm), "MPI_Allgather");
  for (const unsigned char of_rank : all) wrong |= OperationSet(of_rank);
  return wrong;
}

void warn_of_wrong(std::string_view name) {
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  warn_once_for_all(rank, std::string(name) +
                              " of this MPI library gives wrong results; cohom uses an operation "
                              "of its own");
}

}  // namespace

bool computes(MPI_Op op, OperationId id) {
  const Definition definition = definition_of(id);
  return definition.agree(op, definition.mpis.type, definition.ours);
}

OperationSet wrong_operations() {
  static const OperationSet wrong = [] {
    OperationSet found;
    for (std::size_t i = 0; i < operation_count; ++i) {
      const auto id = static_cast<OperationId>(i);
      found[i] = !computes(definition_of(id).mpis.op, id);
    }
    return found;
  }();
  return wrong;
}

Operations Operations::agreed(MPI_Comm comm, OperationSet wrong) {
  static_assert(operation_count <= 8, "a byte tells the others");
  wrong = wrong_on_any_rank(comm, wrong);
  Operations made;
  for (std::size_t i = 0; i < operation_count; ++i) {
    made.all_[i] = wrong[i] ? own().all_[i] : definition_of(static_cast<OperationId>(i)).mpis;
    if (wrong[i]) warn_of_wrong(made.all_[i].name);
  }
  return made;
}

const Operations& Operations::own() {
  static const Operations operations = [] {
    Operations made;
    for (std::size_t id = 0; id < operation_count; ++id)
      made.all_[id] = own_operation(static_cast<OperationId>(id));
    return made;
  }();
  return operations;
}

}  // namespace cohom::mpi
