#pragma once

#include <cohom/cxx20.hpp>

#include <cohom/version.h>

#include <cstdint>

namespace cohom {

inline constexpr int version_major = COHOM_VERSION_MAJOR;
inline constexpr int version_minor = COHOM_VERSION_MINOR;
inline constexpr int version_patch = COHOM_VERSION_PATCH;
inline constexpr const char* version_string = COHOM_VERSION_STRING;

/// Version of docs/wire-format.md this library speaks. Ranks with different ones refuse each other.
inline constexpr std::uint32_t wire_format_version = 19;

}  // namespace cohom
