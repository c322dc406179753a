#pragma once
// What the functions of the C API have in common: reading their arguments.

#include "mpi_ext/api/mpi_options.hpp"

#include <cohom/communicator.hpp>
#include <cohom/element_type.hpp>
#include <cohom/error.hpp>

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace cohom::mpi {

/// A call but for its buffers and options.
struct CallShape {
  std::size_t count = 0;
  ElementType type = ElementType::f32;
};

/// Elements of `count` items. @throws Error: invalid_argument for a negative count or one of more
/// elements than there are addresses, unsupported for a datatype that cannot be compressed.
CallShape checked_shape(MPI_Count count, MPI_Datatype datatype);

/// An error, the options' own among them, is returned, not thrown: this rank still has to take part
/// in the call, with it.
std::variant<CallShape, Error> read_shape(MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                          const InfoOptions& options);

/// The same of a call whose count and datatype are known.
std::optional<Error> check_op_and_options(MPI_Op op, const InfoOptions& options);

/// What a rank's buffers may be.
struct BufferRules {
  bool in_place = true;  ///< sendbuf may be MPI_IN_PLACE
  bool output = true;    ///< recvbuf means something
  std::size_t part = 0;  ///< of recvbuf, as long as the call's count: what MPI_IN_PLACE means
};

inline BufferRules rules_on_all_ranks(const Communicator&) { return {}; }

/// Other ranks have no output, and may not say MPI_IN_PLACE.
inline auto rules_on_root(int root) {
  return [root](const Communicator& communicator) {
    const bool here = communicator.rank() == root;
    return BufferRules{.in_place = here, .output = here};
  };
}

/// Of an allgather, in which each rank has a part of recvbuf.
inline BufferRules rules_of_parts(const Communicator& communicator) {
  return {.part = static_cast<std::size_t>(communicator.rank())};
}

/// `sendbuf`, or where that says MPI_IN_PLACE this rank's part of `recvbuf`.
const void* input_of(const void* sendbuf, const void* recvbuf, const BufferRules& rules,
                     const CallShape& shape);

/// MPI_IN_PLACE stands for recvbuf, and is not one itself.
std::optional<Error> check_buffers(const void* sendbuf, const void* recvbuf,
                                   const BufferRules& rules = {});

/// @throws Error(invalid_argument) for a null pointer to something the caller wants written.
void require(const void* pointer, const char* name);

/// `*bytes`: room in `state` on entry, size of `saved` on return. Only the size when `state` is
/// null.
void copy_state(std::span<const std::byte> saved, void* state, MPI_Count* bytes);

/// @throws Error(invalid_argument) for a negative size, or no memory for a positive one.
std::span<const std::byte> saved_state(const void* state, MPI_Count bytes);

}  // namespace cohom::mpi
