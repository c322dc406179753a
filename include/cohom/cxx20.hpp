#pragma once
// Included first by the headers of the C++ API: one clear error for a standard that is too old.

#if __cplusplus < 201709L  // what compilers say that call it c++2a
#error "cohom needs C++20: compile with -std=c++20 (CMake: link cohom::cohom)"
#include <cohom/stop/needs_cpp20>  // there is none: compilers stop here, not after more errors
#endif
