#pragma once
// MPI's datatypes and operations, as far as they can be compressed.

#include <cohom/element_type.hpp>

#include <mpi.h>

#include <cstddef>

namespace cohom::mpi {

/// The handle of a 2-byte float that MPI lacks (f16 or bf16): made on first use, freed in
/// MPI_Finalize. MPI_DATATYPE_NULL when MPI cannot be called.
MPI_Datatype half_datatype(ElementType type);

/// What one item of a datatype holds: elements of one type, side by side.
struct Item {
  ElementType type = ElementType::f32;
  std::size_t elements = 1;
};

/// Of MPI's floats, what MPI_Type_dup and MPI_Type_contiguous make of them, and the two above.
/// @throws Error(unsupported) that names the datatype and what can be compressed.
Item item_of(MPI_Datatype datatype);

/// @throws Error(unsupported) for any operation but MPI_SUM.
void check_op(MPI_Op op);

}  // namespace cohom::mpi
