#pragma once
// The specs that tests run for every codec: its default, and others that take other paths.

#include "codecs/codec_table.hpp"
#include "plan/spec.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "thoroughness.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::test {

using CodecSpec = CodecSample;

/// Specs of every codec of the library's table that `ranks` can use.
/// @throws std::logic_error for a codec of the table that has none: add samples to its row.
inline std::vector<CodecSpec> specs_for(int ranks) {
  std::vector<CodecSpec> usable;
  for (const CodecRow& row : codec_table()) {
    if (row.samples.empty())
      throw std::logic_error("codec " + std::string(row.info.name) + " has no samples");
    for (const CodecSample& sample : row.samples)
      if (ranks <= sample.max_ranks) usable.push_back(sample);
  }
  return usable;
}

/// The payload's round of a spec's codec.
inline RoundTraits payload_of(std::string_view spec, ElementType type = ElementType::f32) {
  const Spec parsed = parse_spec(spec);
  const auto codec =
      find_codec(parsed.name)
          .make(
              {.type = type, .kernels = kernels::kernel_table(), .parameters = parsed.parameters});
  return codec->payload().traits();
}

/// The tested algorithms that can run a spec's codec: payloads that merge themselves are merged by
/// our own code only.
inline std::vector<AlgorithmRow> algorithms_for(std::string_view spec) {
  std::vector<AlgorithmRow> usable;
  for (const AlgorithmRow& row : algorithm_table())
    if (tests_algorithm(row.name) && (!row.needs_aggregator || !payload_of(spec).merges_itself()))
      usable.push_back(row);
  return usable;
}

/// Whether the result is a floating-point sum, which depends on the order of additions and so on
/// the algorithm.
inline bool adds_floats(std::string_view spec, ElementType type) {
  return payload_of(spec, type).merge.kind == MergeKind::add_float;
}

}  // namespace cohom::test
