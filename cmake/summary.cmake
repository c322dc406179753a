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
cohom_summary_line(COHOM_UCX "${COHOM_HAVE_UCX}" "${ucx_ucx_VERSION}")
cohom_summary_line(COHOM_HWLOC "${COHOM_HAVE_HWLOC}" "${hwloc_VERSION}")
message(STATUS "  Highway: ${hwy_VERSION}")
message(STATUS "  tests: ${COHOM_TESTS}, benchmarks: ${COHOM_BENCHMARKS}, "
               "warnings are errors: ${COHOM_WERROR}")
