#pragma once
// The kernels that a driver makes of a body (body/block.hpp), for one instruction set or a device.

#include "kernels/core/body/block.hpp"

#include <cstdint>

namespace cohom::kernels {

template <class Body>
struct BlockKernels;

/// Pointers need no alignment on the host; words do. Sizes may be zero.
template <MeasuringBody Body>
struct BlockKernels<Body> {
  using Settings = typename Body::Settings;

  /// found[b] := what is known of block b. `found` is the host's.
  void (*measure)(const Settings& settings, const BlockRun& run, const void* input,
                  typename Body::Found* found) = nullptr;

  [[nodiscard]] constexpr bool complete() const { return measure != nullptr; }
};

/// `arguments` are the host's, one a block. `kept` has a number an element (f32, or f64 for f64
/// elements), or is null. All blocks but the last have words(settings, block) words.
template <CodingBody Body>
struct BlockKernels<Body> {
  using Settings = typename Body::Settings;
  using Argument = typename Body::Argument;

  void (*encode)(const Settings& settings, const BlockRun& run, const void* input,
                 const Argument* arguments, void* kept, std::uint64_t* words) = nullptr;
  void (*decode)(const Settings& settings, const BlockRun& run, const std::uint64_t* words,
                 const Argument* arguments, void* kept, void* output) = nullptr;

  [[nodiscard]] constexpr bool complete() const { return encode != nullptr && decode != nullptr; }
};

}  // namespace cohom::kernels
