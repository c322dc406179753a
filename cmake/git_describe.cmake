# cmake -D SOURCE=<checkout> -D OUTPUT=<header> -P git_describe.cmake
# Writes what git says the sources are; leaves the header alone when nothing changed.
execute_process(COMMAND git describe --always --dirty --tags
  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE describe
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT describe)
  set(describe unknown)
endif()
set(text "#pragma once\n\ninline constexpr const char* git_describe = \"${describe}\";\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUTPUT} "${text}")
endif()
