#pragma once

#include <cohom/cxx20.hpp>

#include <cstdint>

namespace cohom {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;
inline constexpr const char* version_string = "0.1.0";

/// Version of docs/wire-format.md this library speaks. Ranks with different ones refuse each other.
inline constexpr std::uint32_t wire_format_version = 13;

}  // namespace cohom
