# What is taken from the system. Nothing is downloaded.

if(COHOM_EBPF STREQUAL "ON" AND NOT COHOM_AGGREGATOR)
  message(FATAL_ERROR
    "COHOM_EBPF=ON, but COHOM_AGGREGATOR=OFF: the switch's program is loaded by cohom-aggregator")
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(hwy REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)

# AUTO: use it when it is there. ON, or a kind of it: fail when it is not. OFF: do not look.
# Sets COHOM_HAVE_<name> and COHOM_WHY_NO_<name> as they are where nobody looks.
function(cohom_optional_dependency name text)
  set(values AUTO ON OFF ${ARGN})
  list(JOIN values ", " listed)
  set(COHOM_${name} AUTO CACHE STRING "${text}: ${listed}")
  set_property(CACHE COHOM_${name} PROPERTY STRINGS ${values})
  if(NOT COHOM_${name} IN_LIST values)
    message(FATAL_ERROR "COHOM_${name} is '${COHOM_${name}}'; it must be one of ${listed}")
  endif()
  set(COHOM_HAVE_${name} FALSE PARENT_SCOPE)
  set(COHOM_WHY_NO_${name} "COHOM_${name}=OFF" PARENT_SCOPE)
endfunction()

# What came of looking for it.
function(cohom_looked_for name found why_not)
  if(found)
    set(COHOM_HAVE_${name} TRUE PARENT_SCOPE)
  elseif(NOT COHOM_${name} STREQUAL "AUTO")
    message(FATAL_ERROR "COHOM_${name}=${COHOM_${name}}, but ${why_not}")
  else()
    set(COHOM_WHY_NO_${name} "${why_not}" PARENT_SCOPE)
  endif()
endfunction()

# An optional dependency that is these modules of pkg-config: PkgConfig::<name>, in lower case.
function(cohom_optional_modules name text why_not)
  cohom_optional_dependency(${name} "${text}")
  if(COHOM_${name})
    string(TOLOWER ${name} prefix)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${ARGN})
    cohom_looked_for(${name} "${${prefix}_FOUND}" "${why_not}")
  endif()
  return(PROPAGATE COHOM_HAVE_${name} COHOM_WHY_NO_${name})
endfunction()

include(cmake/mpi_family.cmake)
cohom_optional_dependency(MPI "MPI transport and the MPIX_ C API" openmpi mpich)
if(COHOM_MPI)
  if(COHOM_MPI MATCHES "mpi" AND NOT MPI_CXX_COMPILER)  # as Debian names them, one beside the other
    find_program(MPI_CXX_COMPILER NAMES mpicxx.${COHOM_MPI})
    find_program(MPIEXEC_EXECUTABLE NAMES mpiexec.${COHOM_MPI})
  endif()
  set(MPI_CXX_SKIP_MPICXX ON)  # the C++ bindings that MPI-3 removed
  find_package(MPI 3.1 QUIET COMPONENTS CXX)
  cohom_looked_for(MPI "${MPI_CXX_FOUND}" "no MPI 3.1 with a C++ compiler wrapper was found")
  cohom_mpi_family(COHOM_MPI_FAMILY ${MPI_CXX_INCLUDE_DIRS})
  if(COHOM_MPI MATCHES "mpi" AND NOT COHOM_MPI STREQUAL COHOM_MPI_FAMILY)
    message(FATAL_ERROR
      "COHOM_MPI=${COHOM_MPI}, but ${MPI_CXX_COMPILER} is of ${COHOM_MPI_FAMILY}; "
      "name another with -D MPI_CXX_COMPILER=.../mpicxx")
  endif()
endif()

set(cohom_ucx_modules ucx>=1.13 ucx-uct ucx-ucs)
cohom_optional_modules(UCX "UCX transport"
  "pkg-config finds no ucx >= 1.13" ${cohom_ucx_modules})
cohom_optional_modules(HWLOC "Cores, NUMA domains and devices, through hwloc"
  "pkg-config finds no hwloc >= 2.0" hwloc>=2.0)

# Names of call sites in the drop-in library's advice; loaded by it when it has some to tell.
cohom_optional_modules(LIBDW "Lines of source in advice of the drop-in library"
  "pkg-config finds no libdw >= 0.170" libdw>=0.170)

# Proofs of who may use an aggregator. The program has no use without it.
cohom_optional_modules(SODIUM "Aggregators in the network, whose control channel needs libsodium"
  "pkg-config finds no libsodium >= 1.0.12" libsodium>=1.0.12)
if(COHOM_AGGREGATOR AND NOT COHOM_HAVE_SODIUM)
  message(FATAL_ERROR
    "COHOM_AGGREGATOR=ON needs libsodium >= 1.0.12, which pkg-config does not find "
    "or COHOM_SODIUM=OFF rules out; without it set COHOM_AGGREGATOR=OFF")
endif()

# Users of a site instead of a token for its aggregators.
cohom_optional_modules(MUNGE "Aggregators that know users by munge"
  "pkg-config finds no munge >= 0.5.13, install with: scripts/setup build" munge>=0.5.13)

# The switch's program: compiled with clang, wrapped by bpftool, loaded by libbpf.
cohom_optional_dependency(EBPF "Sums in the kernel of a Linux switch, in cohom-aggregator")
if(COHOM_EBPF AND COHOM_AGGREGATOR)
  find_program(COHOM_CLANG clang)
  find_program(COHOM_BPFTOOL bpftool PATHS /usr/sbin /sbin)
  pkg_check_modules(libbpf QUIET IMPORTED_TARGET libbpf>=1.0)
  set(missing)
  foreach(tool IN ITEMS clang bpftool)
    string(TOUPPER ${tool} name)
    if(NOT COHOM_${name})
      list(APPEND missing ${tool})
    endif()
  endforeach()
  if(NOT libbpf_FOUND)
    list(APPEND missing "libbpf 1.0")
  endif()
  list(JOIN missing ", " missing)
  string(COMPARE EQUAL "${missing}" "" found)
  cohom_looked_for(EBPF ${found} "${missing} not found, install with: scripts/setup ebpf")
endif()

# Kernels for NVIDIA's devices, in a library of their own. nvcc is no package of the system.
cohom_optional_dependency(CUDA "Kernels for devices, in libcohom_cuda.so")
set(COHOM_CUDA_ARCHITECTURES "80;90;100" CACHE STRING "Devices that libcohom_cuda.so has code for")
if(COHOM_CUDA)
  find_program(COHOM_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
  cohom_looked_for(CUDA "${COHOM_NVCC}" "nvcc not found in PATH, CUDA_HOME and /usr/local/cuda")
endif()

if(COHOM_BENCHMARKS OR COHOM_AGGREGATOR)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
endif()
if(COHOM_BENCHMARKS)
  find_package(benchmark REQUIRED)
  pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
endif()
if(COHOM_TESTS)
  find_package(GTest REQUIRED)
  # Sums in thousands of bits, which tests of exact compare with.
  cohom_optional_modules(MPFR "Tests of exact that compare with MPFR"
    "pkg-config finds no mpfr >= 4.0, install with: scripts/setup build" mpfr>=4.0)
endif()
