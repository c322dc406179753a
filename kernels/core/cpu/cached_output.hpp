#pragma once
// Where decoding a long vector stops to leave its output in the caches.

#include <cstddef>

namespace cohom::kernels {

/// Past this many bytes of a vector, output goes around the caches: the user will not find so much
/// of it in a cache anyway, and memory is spared reading every line before it is overwritten.
inline constexpr std::size_t cached_output_bytes = std::size_t{32} << 20;

}  // namespace cohom::kernels
