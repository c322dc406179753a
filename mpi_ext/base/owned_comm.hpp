#pragma once
// OwnedComm: a duplicate of a communicator, for messages of our own.

#include <mpi.h>

#include <utility>

namespace cohom::mpi {

/// Returns errors instead of calling a handler, and takes none of the user's info: hints such as
/// mpi_assert_allow_overtaking or mpi_assert_exact_length promise for the user's messages, and
/// would break ours.
class OwnedComm {
 public:
  /// Collective over `comm`. @throws Error(transport), on all ranks where MPI made none for one
  explicit OwnedComm(MPI_Comm comm);
  /// Owns `comm` itself. Local.
  static OwnedComm adopt(MPI_Comm comm) {
    OwnedComm owned;
    owned.comm_ = comm;
    return owned;
  }
  OwnedComm(OwnedComm&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  OwnedComm& operator=(OwnedComm&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  /// Collective. Does nothing after MPI_Finalize, which takes everything with it.
  ~OwnedComm();

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] int rank() const;
  [[nodiscard]] int ranks() const;

 private:
  OwnedComm() = default;

  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace cohom::mpi
