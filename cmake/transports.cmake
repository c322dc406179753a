# Transports that have a library of their own, and who is linked with them
# (src/transport/registry.hpp).

# cohom_add_transport(<name>): the library cohom_<name> brings the transport <name>.
function(cohom_add_transport name)
  set_property(GLOBAL APPEND PROPERTY cohom_transports ${name})
endfunction()

# cohom_built_transports(<variable>): the names of this build's, MPI's among them.
function(cohom_built_transports variable)
  get_property(transports GLOBAL PROPERTY cohom_transports)
  if(COHOM_HAVE_MPI)
    list(PREPEND transports mpi)
  endif()
  set(${variable} ${transports} PARENT_SCOPE)
endfunction()

# cohom_link_transports(<target>) links all of them with the target, which joins ranks, and defines
# cohom::built_transports() there. The calls in it are why no linker leaves a library out.
function(cohom_link_transports target)
  get_property(transports GLOBAL PROPERTY cohom_transports)
  set(declarations "")
  set(calls)
  foreach(transport IN LISTS transports)
    string(APPEND declarations
      "namespace cohom::${transport} {\nconst BuiltTransport& built_transport();\n}\n")
    list(APPEND calls "${transport}::built_transport()")
    target_link_libraries(${target} PRIVATE cohom_${transport})
  endforeach()
  list(JOIN calls ", " calls)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/built_transports.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/built_transports.cpp.in ${source} @ONLY)
  target_sources(${target} PRIVATE ${source})
endfunction()
