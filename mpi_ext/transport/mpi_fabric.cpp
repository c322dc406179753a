#include "mpi_ext/transport/mpi_fabric.hpp"

#include "mpi_ext/transport/collective_layers.hpp"
#include "mpi_ext/transport/mpi_reduction.hpp"

namespace cohom::mpi {

void RoundLine::expect_right_order(std::uint64_t number) const {
  if (number > first_given_up)
    throw Error(
        ErrorKind::transport,
        "an earlier call by fabric on this communicator ended early on this rank; make a new "
        "communicator");
}

MpiFabric::MpiFabric(MPI_Comm comm, const Operations& operations) : operations_(operations) {
  lines_.reserve(rounds_of_their_own);
  for (int round = 0; round < rounds_of_their_own; ++round) lines_.emplace_back(comm, operations_);
}

MpiFabric::~MpiFabric() = default;

std::string MpiFabric::describe() const {
  // Asked once a process: MPI opens all its components to tell.
  static const std::string layers = summary(collective_layers());
  return std::string(name()) + ", which " + layers;
}

bool MpiFabric::supports(Merge merge) const {
  switch (merge.kind) {
    case MergeKind::add:
    case MergeKind::bit_or:
    case MergeKind::max: return true;
    case MergeKind::add_packed: return false;
    case MergeKind::add_float:
      return merge.type == ElementType::f32 || merge.type == ElementType::f64;
  }
  return false;
}

std::unique_ptr<Reduction> MpiFabric::open(std::uint64_t /*call*/, int round,
                                           std::size_t reductions) {
  RoundLine& line = lines_[static_cast<std::size_t>(round) % lines_.size()];
  line.expect_right_order(line.opened);
  return std::make_unique<MpiReduction>(line, reductions);
}

}  // namespace cohom::mpi
