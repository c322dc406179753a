# What find_package(cohom) and pkg-config find after `cmake --install`.

include(CMakePackageConfigHelpers)

set(cohom_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cohom)
set(cohom_fortran_source ${CMAKE_INSTALL_INCLUDEDIR}/cohom/cohom.F90)
configure_package_config_file(cmake/cohom-config.cmake.in cohom-config.cmake
  INSTALL_DESTINATION ${cohom_package_dir} PATH_VARS cohom_fortran_source)
write_basic_package_version_file(cohom-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cohom-config.cmake ${PROJECT_BINARY_DIR}/cohom-config-version.cmake
  DESTINATION ${cohom_package_dir})
install(EXPORT cohom-targets NAMESPACE cohom:: DESTINATION ${cohom_package_dir})
get_property(cohom_transports GLOBAL PROPERTY cohom_transports)
foreach(transport IN LISTS cohom_transports)
  install(EXPORT cohom-${transport}-targets NAMESPACE cohom:: DESTINATION ${cohom_package_dir})
endforeach()
if(COHOM_HAVE_MPI)
  install(EXPORT cohom-mpi-${COHOM_MPI_FAMILY}-targets NAMESPACE cohom::
    DESTINATION ${cohom_package_dir})
  install(FILES cmake/mpi_family.cmake DESTINATION ${cohom_package_dir})
endif()

# A static library puts its own dependencies into the program's link line; a shared one has them.
# They are named as libraries, not as requirements, which would put their definitions into the
# program's compile line.
set(cohom_pc_libs "")
set(cohom_ucx_pc_libs "")
set(cohom_mpi_pc_requires cohom)
if(NOT BUILD_SHARED_LIBS)
  pkg_check_modules(cohom_dependencies REQUIRED QUIET libhwy spdlog fmt libxxhash)
  if(COHOM_HAVE_SODIUM)
    list(APPEND cohom_dependencies_LDFLAGS ${sodium_LDFLAGS})
  endif()
  if(COHOM_HAVE_MUNGE)
    list(APPEND cohom_dependencies_LDFLAGS ${munge_LDFLAGS})
  endif()
  if(COHOM_HAVE_HWLOC)
    list(APPEND cohom_dependencies_LDFLAGS ${hwloc_LDFLAGS})
  endif()
  list(JOIN cohom_dependencies_LDFLAGS " " cohom_pc_libs)
  string(APPEND cohom_pc_libs " -lstdc++ -lm")
  if(COHOM_HAVE_UCX)
    list(JOIN ucx_LDFLAGS " " cohom_ucx_pc_libs)
  endif()
  foreach(transport IN LISTS cohom_transports)
    string(PREPEND cohom_mpi_pc_requires "cohom-${transport} ")
  endforeach()
endif()
# Relative to the file itself, so that the installed tree can be moved.
file(RELATIVE_PATH cohom_pc_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" cohom_pc_prefix "${cohom_pc_prefix}")
set(cohom_pc_prefix "\${pcfiledir}/${cohom_pc_prefix}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")  # as are all of them, then: nothing can be moved
  set(cohom_pc_prefix "${CMAKE_INSTALL_PREFIX}")
endif()
cmake_path(APPEND cohom_pc_libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
cmake_path(APPEND cohom_pc_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")

# cohom_install_pkg_config(<name> [<as>]): one module may be there by several names.
function(cohom_install_pkg_config name)
  set(as ${name} ${ARGN})
  list(GET as -1 as)
  configure_file(cmake/${name}.pc.in ${as}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${as}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
cohom_install_pkg_config(cohom)
foreach(transport IN LISTS cohom_transports)
  cohom_install_pkg_config(cohom-${transport})
endforeach()
if(COHOM_HAVE_MPI)
  cohom_install_pkg_config(cohom-mpi cohom-mpi-${COHOM_MPI_FAMILY})
  cohom_install_pkg_config(cohom-mpi)  # of the MPI that was installed last
endif()

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -D MANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
      -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
    VERBATIM)
endif()
