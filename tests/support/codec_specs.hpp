#pragma once
// The specs that tests run for every codec: its default, and others that take other paths.

#include "codecs/codec_table.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::test {

/// The errors are squared errors of a sum of normal vectors, relative to ranks * (largest energy of a
/// rank's vector), with a quarter or more of room above what theory and measurement say.
struct CodecSpec {
  std::string_view spec;
  double clamped = 0;        ///< what is lost whatever the number of ranks
  double rounded = 0;        ///< what rounding costs one rank
  bool correlated = true;    ///< roundings of n ranks cancel: (n + 1) / (2 n) of it is left
  bool full_levels = false;  ///< n ranks share one lane's levels: n^2 times the error of one
  bool block_scale = true;   ///< what one block holds does not change the others
  int max_ranks = 16;        ///< above, the sum does not fit the lane
  std::size_t escapes =
      0;  ///< elements that escape together; 0: one block, or all without block_scale
  bool shares_step = false;  ///< what escapes changes the step of all others
  bool absolute = false;     ///< the error does not scale with the vectors
  bool signs = false;        ///< one bit a value: nothing of its magnitude travels

  [[nodiscard]] double error(int ranks) const {
    const double n = ranks;
    return clamped + rounded * (correlated ? (n + 1) / (2 * n) : 1) * (full_levels ? n * n : 1);
  }
};

inline constexpr CodecSpec codec_specs[] = {
    {.spec = "raw"},
    // Of a budget, a tenth goes to the agreement of vectors as short as the tests'.
    {.spec = "packed", .clamped = 0.05, .block_scale = false, .escapes = 32, .shares_step = true},
    {.spec = "packed:bits=8,budget=max,dither=nearest",
     .clamped = 0.0005,
     .block_scale = false,
     .escapes = 32,
     .shares_step = true},
    {.spec = "packed:bits=3.5,dither=independent,seed=3",
     .clamped = 0.7,
     .block_scale = false,
     .escapes = 32,
     .shares_step = true},
    {.spec = "packed:error_feedback=on,down_shift=0",
     .clamped = 0.06,
     .block_scale = false,
     .escapes = 32,
     .shares_step = true},
    {.spec = "packed:abs_error=0.001", .clamped = 1e-5, .escapes = 32, .absolute = true},
    {.spec = "packed:rel_error=0.0001,predict=delta",
     .clamped = 1e-6,
     .block_scale = false,
     .escapes = 1024,
     .shares_step = true},
    {.spec = "sketch", .clamped = 1e-14, .block_scale = false, .escapes = 256, .shares_step = true},
    {.spec = "sketch:gamma=1.1,index=flat,seed=5",
     .clamped = 1e-14,
     .block_scale = false,
     .escapes = 256,
     .shares_step = true},
    {.spec = "sketch:size=0.3,index=bloom,seed=2",
     .clamped = 1e-14,
     .block_scale = false,
     .escapes = 256,
     .shares_step = true},
    {.spec = "sparse"},
    {.spec = "sparse:index=flat"},
    {.spec = "sparse:index=bloom,false_positives=1/64"},
    {.spec = "sparse+thc", .clamped = 0.009, .rounded = 0.017, .escapes = 256},
    {.spec = "sparse+thc:index=flat,levels=full,rotation=64",
     .clamped = 0.0006,
     .rounded = 0.00017,
     .full_levels = true,
     .escapes = 64},
    {.spec = "thc", .clamped = 0.009, .rounded = 0.017},
    {.spec = "thc:levels=full", .clamped = 0.0006, .rounded = 0.00017, .full_levels = true},
    {.spec = "thc:levels=full,lane=16", .clamped = 0.0005},
    {.spec = "thc:scale=global", .clamped = 0.009, .rounded = 0.017, .block_scale = false},
    {.spec = "thc:scale=global,rotation=16,levels=full,lane=21",
     .clamped = 0.0003,
     .block_scale = false},
    {.spec = "thc:rotation=16", .clamped = 0.009, .rounded = 0.017},
    {.spec = "thc:rotation=1024", .clamped = 0.009, .rounded = 0.017},
    {.spec = "thc:bits=1", .clamped = 0.009, .rounded = 4},
    {.spec = "thc:bits=2,granularity=9", .clamped = 0.009, .rounded = 0.42},
    {.spec = "thc:bits=6,granularity=100,tail=1/256", .clamped = 0.001, .rounded = 0.0016},
    {.spec = "thc:dither=independent", .clamped = 0.009, .rounded = 0.017, .correlated = false},
    {.spec = "thc:dither=nearest", .clamped = 0.009, .rounded = 0.009, .correlated = false},
    {.spec = "thc:error_feedback=on", .clamped = 0.009, .rounded = 0.009, .correlated = false},
    {.spec = "thc:lane=8", .clamped = 0.009, .rounded = 0.017, .max_ranks = 8},
    {.spec = "thc:lane=9", .clamped = 0.009, .rounded = 0.017},
    {.spec = "thc:lane=12,seed=7", .clamped = 0.009, .rounded = 0.019},
    {.spec = "thc:lane=16", .clamped = 0.009, .rounded = 0.017},
    // A sign with the mean magnitude leaves 1 - 2/pi of a normal vector's energy; a vote for all
    // ranks is wrong by as much as their sum is large.
    {.spec = "signcount", .clamped = 0.5, .signs = true},
    {.spec = "signcount:error_feedback=on", .clamped = 0.5, .signs = true},
    {.spec = "signcount:scale=global",
     .clamped = 1.5,
     .block_scale = false,
     .escapes = 1024,
     .shares_step = true,
     .signs = true},
    {.spec = "signcount:scale=0.8",
     .clamped = 40,
     .block_scale = false,
     .escapes = 1024,
     .absolute = true,
     .signs = true},
    {.spec = "signcount:vote=majority",
     .clamped = 1,
     .rounded = 1,
     .full_levels = true,
     .signs = true},
    {.spec = "signcount:vote=majority,scale=global,error_feedback=on",
     .clamped = 1.5,
     .rounded = 1,
     .full_levels = true,
     .block_scale = false,
     .escapes = 1024,
     .shares_step = true,
     .signs = true},
    // The sign of one rank stands for all: n^2 of the mean's energy is lost.
    {.spec = "marsit",
     .clamped = 3,
     .rounded = 1.5,
     .full_levels = true,
     .block_scale = false,
     .escapes = 1024,
     .shares_step = true,
     .signs = true},
    {.spec = "marsit:compensation=on,seed=3",
     .clamped = 3,
     .rounded = 1.5,
     .full_levels = true,
     .block_scale = false,
     .escapes = 1024,
     .shares_step = true,
     .signs = true},
    {.spec = "marsit:scale=0.8,period=none",
     .clamped = 40,
     .rounded = 40,
     .full_levels = true,
     .block_scale = false,
     .escapes = 1024,
     .absolute = true,
     .signs = true},
    {.spec = "marsit:period=1,compensation=on"},
};

/// Specs of every codec of the library's table that `ranks` can use.
/// @throws std::logic_error for a codec of the table that has none: add some above.
inline std::vector<CodecSpec> specs_for(int ranks) {
  std::vector<CodecSpec> usable;
  for (const CodecRow& row : codec_table()) {
    bool covered = false;
    for (const CodecSpec& spec : codec_specs) {
      if (spec.spec.substr(0, spec.spec.find(':')) != row.info.name) continue;
      covered = true;
      if (ranks <= spec.max_ranks) usable.push_back(spec);
    }
    if (!covered)
      throw std::logic_error("codec_specs has no spec of codec " + std::string(row.info.name));
  }
  return usable;
}

/// The algorithms that can run a spec's codec: packed payloads are merged by our own code only.
inline std::vector<AlgorithmRow> algorithms_for(std::string_view spec) {
  std::vector<AlgorithmRow> usable;
  for (const AlgorithmRow& row : algorithm_table())
    if (!row.needs_aggregator || !spec.starts_with("packed")) usable.push_back(row);
  return usable;
}

/// Whether the result is a floating-point sum, which depends on the order of additions and so on
/// the algorithm.
inline bool adds_floats(std::string_view spec, ElementType type) {
  const bool sketch =
      spec.starts_with("sketch") && type == ElementType::f64;  // it has floating cells
  return spec == "raw" || spec == "sparse" || spec.starts_with("sparse:") || sketch;
}

}  // namespace cohom::test
