# cohom_mpi_family(<variable> <include folder>...): which family of MPI libraries a header is of. In
# one family programs and libraries fit each other; handles of one mean nothing to the other.
# Installed beside cohom-config.cmake, which needs it, too.
function(cohom_mpi_family variable)
  set(${variable} mpi PARENT_SCOPE)  # another one
  # A compiler may know where MPI is by itself.
  foreach(folder IN LISTS ARGN CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    if(NOT EXISTS ${folder}/mpi.h)
      continue()
    endif()
    file(STRINGS ${folder}/mpi.h lines REGEX "define[ \t]+(OMPI_MAJOR|MPICH|I_MPI)_VERSION")
    if(lines MATCHES "OMPI_MAJOR_VERSION")
      set(${variable} openmpi PARENT_SCOPE)
    elseif(lines)
      set(${variable} mpich PARENT_SCOPE)
    endif()
    return()
  endforeach()
endfunction()
