#pragma once
// Buffers as Fortran passes them: its MPI_IN_PLACE and MPI_BOTTOM are addresses of their own.

#include <mpi.h>

extern "C" {
// Null in a program without the MPI library's part for Fortran.
#ifdef OMPI_MAJOR_VERSION
extern int mpi_fortran_in_place_ __attribute__((weak));
extern int mpi_fortran_bottom_ __attribute__((weak));
#else  // MPICH and its like
extern void* MPIR_F_MPI_IN_PLACE __attribute__((weak));
extern void* MPIR_F_MPI_BOTTOM __attribute__((weak));
#endif
}

namespace cohom::mpi {

/// As C passes it.
inline void* c_buffer(const void* buffer) {
#ifdef OMPI_MAJOR_VERSION
  const void* const in_place = &mpi_fortran_in_place_;
  const void* const bottom = &mpi_fortran_bottom_;
#else
  const void* const in_place = &MPIR_F_MPI_IN_PLACE != nullptr ? MPIR_F_MPI_IN_PLACE : nullptr;
  const void* const bottom = &MPIR_F_MPI_BOTTOM != nullptr ? MPIR_F_MPI_BOTTOM : nullptr;
#endif
  if (in_place != nullptr && buffer == in_place) return MPI_IN_PLACE;
  if (bottom != nullptr && buffer == bottom) return MPI_BOTTOM;
  return const_cast<void*>(buffer);
}

}  // namespace cohom::mpi
