#pragma once
// What a codec's work takes on this processor: the library's own calls on two simulated ranks, in
// one thread, with a profile each.

#include "scale/codec_times.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cohom::bench {

/// Of vectors of f32 with so many bytes, or 8 MiB if that is less: what does not fit a cache takes
/// longer. Takes some ten milliseconds.
/// @throws Error for a codec that cannot be made; std::runtime_error for one whose bytes depend on
/// more than the vector's length
CodecTimes measure_codec(const std::string& spec, std::size_t vector_bytes);

struct MeteredCodec {
  std::string spec;
  std::optional<CodecTimes> times = {};
  std::string why_not = {};  ///< where there are none
};

/// `raw`, and these behind it.
/// @throws Error for a codec that cannot be made
std::vector<MeteredCodec> measure_codecs(const std::vector<std::string>& specs,
                                         std::size_t vector_bytes);

}  // namespace cohom::bench
