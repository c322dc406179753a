#include "mpi_ext/transport/mpi_sums.hpp"

#include "mpi_ext/base/callable.hpp"
#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/transport/open_requests.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <array>
#include <climits>

namespace cohom::mpi {

namespace {

/// MPI counts in int.
constexpr std::size_t max_elements = std::size_t{1} << 30;

/// Of short ones nothing is added.
MPI_Datatype datatype_of(ElementType type) {
  if (size_of(type) == 2) return MPI_UINT16_T;
  return type == ElementType::f64 ? MPI_DOUBLE : MPI_FLOAT;
}

/// What MPI is told of a sum, or of a part that it can count.
struct Part {
  const void* input;
  void* output;
  int count;
  MPI_Datatype datatype;
};

/// Calls `sum(part)` for the parts of a vector. A reduce_scatter is one part, and so is an
/// allgather.
template <class Sum>
void for_parts(const NativeBuffers& buffers, int rank, Sum sum) {
  const std::size_t size = size_of(buffers.type);
  const bool gets_some = buffers.collective != ReductionKind::reduce || rank == buffers.root;
  const auto* from = static_cast<const std::byte*>(buffers.input);
  auto* to = static_cast<std::byte*>(buffers.output);
  const bool gathers = buffers.collective == ReductionKind::allgather;
  const std::size_t before = gathers ? static_cast<std::size_t>(rank) * buffers.count * size : 0;
  const bool in_place = gets_some && from == to + before;
  for (std::size_t left = buffers.count; left != 0;) {
    const std::size_t part = std::min(left, max_elements);
    sum(Part{.input = in_place ? MPI_IN_PLACE : static_cast<const void*>(from),
             .output = gets_some ? to : nullptr,
             .count = static_cast<int>(part),
             .datatype = datatype_of(buffers.type)});
    from += part * size;
    if (gets_some) to += part * size;
    left -= part;
  }
}

class MpiSum final : public NativeSum {
 public:
  MpiSum() = default;
  MpiSum(const MpiSum&) = delete;
  MpiSum& operator=(const MpiSum&) = delete;
  ~MpiSum() override { requests_.drain(); }

  void add(const NativeBuffers& buffers, const Part& part, MPI_Comm comm) {
    requests_.reserve();
    MPI_Request request = MPI_REQUEST_NULL;
    switch (buffers.collective) {
      case ReductionKind::reduce_scatter:
        check(MPI_Ireduce_scatter_block(part.input, part.output, part.count, part.datatype, MPI_SUM,
                                        comm, &request),
              "MPI_Ireduce_scatter_block");
        break;
      case ReductionKind::reduce:
        check(MPI_Ireduce(part.input, part.output, part.count, part.datatype, MPI_SUM, buffers.root,
                          comm, &request),
              "MPI_Ireduce");
        break;
      case ReductionKind::allgather:
        check(MPI_Iallgather(part.input, part.count, part.datatype, part.output, part.count,
                             part.datatype, comm, &request),
              "MPI_Iallgather");
        break;
      case ReductionKind::allreduce:
        check(MPI_Iallreduce(part.input, part.output, part.count, part.datatype, MPI_SUM, comm,
                             &request),
              "MPI_Iallreduce");
    }
    requests_.add(request, {}, false);
  }

  [[nodiscard]] bool test() override {
    const MpiUse use;
    std::array<Completion, 8> done;
    while (requests_.poll(done) == done.size()) continue;
    return requests_.empty();
  }
  bool give_up() noexcept override { return requests_.advance(); }

 private:
  OpenRequests requests_;
};

}  // namespace

std::string MpiSums::why_not(const NativeBuffers& buffers) const {
  const bool gathers = buffers.collective == ReductionKind::allgather;
  if (!gathers && buffers.type != ElementType::f32 && buffers.type != ElementType::f64)
    return "MPI has no type " + std::string(name_of(buffers.type));
  // MPI counts a part, and libraries below it the bytes of all parts, in int.
  const std::size_t most = INT_MAX / size_of(buffers.type) / std::size_t(comm_.ranks());
  if ((gathers || buffers.collective == ReductionKind::reduce_scatter) && buffers.count > most)
    return "MPI cannot count parts of " + std::to_string(buffers.count) + " elements";
  return {};
}

/// By PMPI's name: a drop-in library in front of MPI would compress the vector again.
void MpiSums::add(const NativeBuffers& buffers) {
  const MpiUse use;
  const MPI_Comm comm = comm_.get();
  for_parts(buffers, comm_.rank(), [&](const Part& part) {
    switch (buffers.collective) {
      case ReductionKind::reduce_scatter:
        check(PMPI_Reduce_scatter_block(part.input, part.output, part.count, part.datatype, MPI_SUM,
                                        comm),
              "PMPI_Reduce_scatter_block");
        return;
      case ReductionKind::reduce:
        check(PMPI_Reduce(part.input, part.output, part.count, part.datatype, MPI_SUM, buffers.root,
                          comm),
              "PMPI_Reduce");
        return;
      case ReductionKind::allgather:
        check(PMPI_Allgather(part.input, part.count, part.datatype, part.output, part.count,
                             part.datatype, comm),
              "PMPI_Allgather");
        return;
      case ReductionKind::allreduce:
        check(PMPI_Allreduce(part.input, part.output, part.count, part.datatype, MPI_SUM, comm),
              "PMPI_Allreduce");
    }
  });
}

std::unique_ptr<NativeSum> MpiSums::start(const NativeBuffers& buffers) {
  const MpiUse use;
  auto sum = std::make_unique<MpiSum>();
  for_parts(buffers, comm_.rank(), [&](const Part& part) { sum->add(buffers, part, comm_.get()); });
  return sum;
}

}  // namespace cohom::mpi
