# How everything here is compiled.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

option(BUILD_SHARED_LIBS "Build shared libraries" OFF)
option(COHOM_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(COHOM_BENCHMARKS "Build cohom-bench, cohom-info and codec_bench" ${PROJECT_IS_TOP_LEVEL})
option(COHOM_AGGREGATOR "Build cohom-aggregator, which sums in the network" ${PROJECT_IS_TOP_LEVEL})
option(COHOM_PYTHON "Build the library that the Python package calls" ${PROJECT_IS_TOP_LEVEL})
option(COHOM_FUZZ "Build the fuzz targets (clang)" OFF)
option(COHOM_TOGETHER "Compile the sources of a folder together, which takes less time in all" OFF)
option(COHOM_PRECOMPILE "Compile once the headers that most sources include"
  ${PROJECT_IS_TOP_LEVEL})
option(COHOM_WERROR "Treat warnings as errors" OFF)
set(COHOM_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")

# Every instruction set must give the same bits, so no compiler may fuse a multiply and an add, nor
# reorder sums as -ffast-math does. These come after CMAKE_CXX_FLAGS, so they win over a user's own.
add_compile_options(-fno-fast-math -ffp-contract=off)
# Nor may a program of ours start, or a library of ours be loaded, with denormals flushed to zero:
# what GCC links in for these flags does that to the whole process (to libraries too before GCC 13).
add_link_options(-fno-fast-math -fno-unsafe-math-optimizations)
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
if("${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}}
    ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}
    ${CMAKE_EXE_LINKER_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS} ${CMAKE_MODULE_LINKER_FLAGS}"
    MATCHES "-Ofast")
  add_link_options(-O3)  # the last -O counts, and for -Ofast GCC links it in, whatever else is said
endif()

if(COHOM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(COHOM_SANITIZE)
  add_compile_options(
    -fsanitize=${COHOM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # The address sanitizer sees what these would find, and they take a fifth of the compiler's time.
  if(COHOM_SANITIZE MATCHES "address.*undefined")
    add_compile_options(-fno-sanitize=null,vptr,object-size)
    # Another third, for what is no error on any processor of ours. The fuzz targets look at it.
    if(NOT COHOM_FUZZ)
      add_compile_options(-fno-sanitize=pointer-overflow,alignment)
    endif()
  endif()
  add_link_options(-fsanitize=${COHOM_SANITIZE})
  # These programs are large, and GNU's linker takes a second for each.
  find_program(COHOM_MOLD mold)
  mark_as_advanced(COHOM_MOLD)
  if(COHOM_MOLD AND NOT COHOM_FUZZ)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

# Warnings are private: who uses the library chooses his own.
set(cohom_warnings -Wall -Wextra -Wshadow -Wvla
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms in std::string, GCC bug 105651.
  list(APPEND cohom_warnings -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
endif()

function(cohom_set_warnings target)
  target_compile_options(${target} PRIVATE ${cohom_warnings})
  set_target_properties(${target} PROPERTIES COMPILE_WARNING_AS_ERROR ${COHOM_WERROR})
endfunction()

# cohom_precompile(<target> <header>...) compiles these once for all C++ sources of the target, and
# cohom_precompile(<target> REUSE_FROM <other>) takes what was compiled for another target, which
# must have the same options. Each source still includes what it uses: clang-tidy does without them.
function(cohom_precompile target)
  if(NOT COHOM_PRECOMPILE)
    return()
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>"
      OUTPUT_VARIABLE headers)
    target_precompile_headers(${target} PRIVATE ${headers})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # without it ccache finds no precompiled header
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endfunction()

# cohom_compile_together(<target>): the sources of a folder are one source to the compiler, which
# instantiates once what they all use. Names without linkage must differ within a folder.
function(cohom_compile_together target)
  if(NOT COHOM_TOGETHER)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE -Wno-shadow)  # of what another source declares
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\$")  # not known yet
      continue()
    endif()
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "together_${folder}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

# What nearly every source of ours includes.
set(cohom_common_headers
  algorithm array atomic bit chrono cmath cstddef cstdint cstring functional limits map memory mutex
  numeric optional span stdexcept string string_view thread tuple utility vector)

# Sources that are long to compile and short to run: programs that read their command line.
set(cohom_quick_options $<$<CONFIG:Release>:-O1>)
function(cohom_compile_quickly)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${cohom_quick_options}")
endfunction()

# A shared library of ours exports its own names alone. At link time, not by -fvisibility:
# exceptions and types of the API cross libraries, and their type information must stay visible.
function(cohom_export_own_symbols target)
  set(map ${PROJECT_SOURCE_DIR}/cmake/exported_symbols.map)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
  endif()
endfunction()

# What is installed finds our libraries, which lie in `folder` unless their place is absolute, and
# those that it was linked with outside the system's folders, such as an MPI in a prefix of its own.
function(cohom_find_libraries target folder)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(folder "${CMAKE_INSTALL_LIBDIR}")
  endif()
  set_target_properties(${target} PROPERTIES
    INSTALL_RPATH "${folder}" INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()

# A tool of ours: build/bin/<name>, installed to bin.
function(cohom_add_tool target)
  cmake_parse_arguments(tool "" "NAME" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${target} ${tool_SOURCES})
  target_link_libraries(${target} PRIVATE ${tool_LIBRARIES})
  cohom_set_warnings(${target})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${tool_NAME}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  cohom_compile_together(${target})
  cohom_find_libraries(${target} "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS ${target})
endfunction()
