#pragma once
// CodecModel: what a codec's messages carry, from its own description.

#include "codecs/common/codec_context.hpp"
#include "scale/payload_sizes.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cohom::bench {

/// An allreduce of f32.
struct ModelledVector {
  std::size_t elements = 0;
  int ranks = 2;
};

/// A round before the payload.
struct SmallRound {
  bool in_units = false;  ///< those of the payload, or else at once
  std::function<std::uint64_t(std::size_t elements)> bytes;
};

struct CodecModel {
  std::size_t block = 1;
  SlotBytes bytes;
  AlgorithmInput input;  ///< without a rank
  bool at_once = false;  ///< goes by the algorithm that merges at once, whatever was asked for
  std::size_t longest_segment = 32768;  ///< elements that plans let travel at once
  double room = 1;                      ///< CallPart::room of the payload
  std::vector<SmallRound> small_rounds = {};
  std::size_t shortest_message = 0;  ///< elements of all chunks, where there are several
  bool may_fall_back = false;        ///< ranks agree on a fallback round
};

/// Of a valid codec with its parameters, for an algorithm that merges chunks at once or not.
/// Of `packed`, whose sums vary with the vectors: contributions and complete sums have its `bits`,
/// and a sum of k contributions half a bit more for each doubling of k.
/// @throws std::runtime_error where bytes depend on more than the vector's length
CodecModel model_codec(const std::string& name, const Parameters& parameters,
                       const ModelledVector& vector, bool at_once);

/// Plain f32, without rounds before the payload.
CodecModel plain_floats(int ranks);

}  // namespace cohom::bench
