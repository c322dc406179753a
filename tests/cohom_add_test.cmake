# cohom_add_test(<name> RING pure|codec|transport|inprocess SOURCES <file>...
#                [LIBRARIES <target>...] [TIMEOUT <seconds>] [SHARDS <n>])
# One executable, run as the CTest entry <ring>.<name> with the ring as its label. SHARDS cuts its
# cases into that many entries, so that several cores share them. The target cohom_tests_<ring> builds
# what the entries of one ring run.
function(cohom_add_test name)
  cmake_parse_arguments(test "" "RING;TIMEOUT;SHARDS" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT test_RING MATCHES "^(pure|codec|transport|inprocess)$")
    message(FATAL_ERROR "cohom_add_test(${name}): RING is '${test_RING}'")
  endif()
  cohom_test_defaults(test TIMEOUT 120 SHARDS 1)
  # Ranks that poll take several times as long beside others' once each access is watched.
  set(processors 1)
  if(COHOM_SANITIZE STREQUAL "thread" AND test_SHARDS EQUAL 1
     AND test_RING MATCHES "transport|inprocess")
    set(processors 2)
  endif()
  set(target ${test_RING}_${name})
  if((COHOM_SANITIZE AND (target IN_LIST cohom_tests_of_laws
                          OR target IN_LIST cohom_tests_of_values))
     OR (COHOM_SANITIZE STREQUAL "thread" AND target IN_LIST cohom_tests_of_memory))
    return()
  endif()
  cohom_add_test_executable(${target} SOURCES ${test_SOURCES}
    LIBRARIES GTest::gtest_main ${test_LIBRARIES})
  if(NOT TARGET cohom_tests_${test_RING})
    add_custom_target(cohom_tests_${test_RING})
  endif()
  add_dependencies(cohom_tests_${test_RING} ${target})

  math(EXPR last_shard "${test_SHARDS} - 1")
  foreach(shard RANGE ${last_shard})
    set(entry ${test_RING}.${name})
    if(test_SHARDS GREATER 1)
      string(APPEND entry ".${shard}")
    endif()
    add_test(NAME ${entry} COMMAND ${target})
    cohom_set_test_properties(${entry} ${test_RING} ${test_TIMEOUT} ${processors})
    set_property(TEST ${entry} APPEND PROPERTY
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${test_SHARDS}" "GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# cohom_add_mpi_test(<name> RANKS <n>... SOURCES <file>... [LIBRARIES <target>...]
#                    [TIMEOUT <seconds>] [ARGUMENTS <argument>...])
# One executable, run under mpirun as the CTest entry mpi.<name>.ranks<n> for every n.
function(cohom_add_mpi_test name)
  cmake_parse_arguments(test "" "TIMEOUT" "SOURCES;LIBRARIES;RANKS;ARGUMENTS" ${ARGN})
  cohom_test_defaults(test TIMEOUT 120)
  set(target mpi_${name})
  cohom_add_test_executable(${target} SOURCES ${test_SOURCES}
    LIBRARIES cohom_mpi_test_support ${test_LIBRARIES})
  foreach(ranks IN LISTS test_RANKS)
    cohom_add_mpirun_entry(mpi.${name}.ranks${ranks} LABEL mpi RANKS ${ranks}
      TIMEOUT ${test_TIMEOUT} COMMAND $<TARGET_FILE:${target}> ${test_ARGUMENTS})
  endforeach()
endfunction()

# cohom_add_mpirun_entry(<entry> LABEL <label> RANKS <n> COMMAND <program> <argument>...
#                        [TIMEOUT <seconds>])
function(cohom_add_mpirun_entry entry)
  cmake_parse_arguments(test "" "LABEL;TIMEOUT;RANKS" "COMMAND" ${ARGN})
  cohom_test_defaults(test TIMEOUT 120)
  add_test(NAME ${entry} COMMAND
    ${PROJECT_SOURCE_DIR}/scripts/with-env
    ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${test_RANKS} ${MPIEXEC_PREFLAGS}
    ${test_COMMAND} ${MPIEXEC_POSTFLAGS})
  cohom_set_test_properties(${entry} ${test_LABEL} ${test_TIMEOUT} 1)  # ranks yield
endfunction()

function(cohom_add_test_executable target)
  cmake_parse_arguments(test "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${target} ${test_SOURCES})
  target_link_libraries(${target} PRIVATE cohom_test_support ${test_LIBRARIES})
  cohom_set_warnings(${target})
  cohom_precompile(${target} REUSE_FROM cohom_test_support)
  # GoogleTest's macros are if-else statements, so EXPECT_... below an if without braces warns.
  target_compile_options(${target} PRIVATE -Wno-dangling-else)
endfunction()

# cohom_of_systems(<entry>... [PROGRAMS <target>...]): tests of what lies around the library: its
# programs, and whole systems such as a lab, a Slurm, pages or an installation. `scripts/test
# --systems` runs them. An entry with shards or ranks is named without them; PROGRAMS are what such
# tests alone run.
function(cohom_of_systems)
  cmake_parse_arguments(test "" "" "PROGRAMS" ${ARGN})
  get_property(all DIRECTORY PROPERTY TESTS)
  foreach(name IN LISTS test_UNPARSED_ARGUMENTS)
    set(entries ${all})
    list(FILTER entries INCLUDE REGEX "^${name}(\\.(ranks)?[0-9]+)?$")
    if(NOT entries AND NOT COHOM_SANITIZE)
      message(FATAL_ERROR "cohom_of_systems(${name}): there is no such test")
    endif()
    foreach(entry IN LISTS entries)
      set_property(TEST ${entry} APPEND PROPERTY LABELS systems)
    endforeach()
    string(REPLACE "." "_" target ${name})
    list(APPEND test_PROGRAMS ${target})
  endforeach()
  foreach(target IN LISTS test_PROGRAMS)
    if(TARGET ${target})
      set_target_properties(${target} PROPERTIES COHOM_OF_SYSTEMS ON)
    endif()
  endforeach()
endfunction()

# cohom_add_programs_of_tests(<target> <directory>): makes <target> build all programs and shared
# libraries of a directory and those below it that are in `all`, but for those of
# cohom_of_systems().
function(cohom_add_programs_of_tests target directory)
  get_property(found DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(program IN LISTS found)
    get_target_property(type ${program} TYPE)
    get_target_property(of_systems ${program} COHOM_OF_SYSTEMS)
    get_target_property(excluded ${program} EXCLUDE_FROM_ALL)
    if(type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$" AND NOT of_systems
       AND NOT excluded)
      add_dependencies(${target} ${program})
    endif()
  endforeach()
  get_property(below DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS below)
    cohom_add_programs_of_tests(${target} ${folder})
  endforeach()
endfunction()

# cohom_test_defaults(<prefix> <ARGUMENT> <value>...) sets the arguments that were not given.
function(cohom_test_defaults prefix)
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs argument value)
    if(NOT DEFINED ${prefix}_${argument})
      set(${prefix}_${argument} ${value} PARENT_SCOPE)
    endif()
  endwhile()
endfunction()

# `processors` is 1, or 2 for a test that would take many times as long beside another one, for its
# ranks poll. Sanitized programs are slower; a timeout is for those that hang.
function(cohom_set_test_properties entry label timeout processors)
  if(COHOM_SANITIZE)
    math(EXPR timeout "${timeout} * 8")
  endif()
  # Results have the bits of codecs, whatever is faster.
  set_property(TEST ${entry} PROPERTY ENVIRONMENT_MODIFICATION COHOM_NATIVE=set:never)
  # Buffers that come and go with each case stay with the process: the system would clear their
  # pages each time, and interrupt all cores that run threads of the program.
  set_tests_properties(${entry} PROPERTIES
    LABELS ${label} TIMEOUT ${timeout} PROCESSORS ${processors}
    ENVIRONMENT
      "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=268435456:glibc.malloc.trim_threshold=536870912")
endfunction()
