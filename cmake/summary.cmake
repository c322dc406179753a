# What was found, once.

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

function(cohom_summary_line option found)
  set(result "no")
  if(found)
    set(result "yes ${ARGN}")
  elseif(${option} STREQUAL "OFF")
    set(result "no (${option}=OFF)")
  endif()
  string(REPLACE "COHOM_" "" label "${option}")
  message(STATUS "  ${label}: ${result}")
endfunction()

message(STATUS "cohom ${PROJECT_VERSION} with")
cohom_summary_line(COHOM_MPI "${COHOM_HAVE_MPI}" "${MPI_CXX_VERSION} (${MPI_CXX_COMPILER})")
cohom_summary_line(COHOM_HWLOC "${COHOM_HAVE_HWLOC}" "${hwloc_VERSION}")
if(COHOM_AGGREGATOR)
  cohom_summary_line(COHOM_EBPF "${COHOM_HAVE_EBPF}" "libbpf ${libbpf_VERSION} (${COHOM_CLANG}, ${COHOM_BPFTOOL})")
  if(NOT COHOM_HAVE_EBPF)
    message(STATUS "    ${COHOM_WHY_NO_EBPF}")
  endif()
endif()
message(STATUS "  Highway: ${hwy_VERSION}")
message(STATUS "  tests: ${COHOM_TESTS}, benchmarks: ${COHOM_BENCHMARKS}, "
               "warnings are errors: ${COHOM_WERROR}")
