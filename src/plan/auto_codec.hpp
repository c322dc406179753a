#pragma once
// The codec of `codec=auto:nmse=...`: of those that keep the error, the one whose calls are
// expected to send the fewest bytes.

#include "codecs/codec_table.hpp"
#include "codecs/common/codec_context.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cohom {

/// What the choice depends on. Alike on all ranks.
struct AutoCodecQuestion {
  std::string_view algorithm;  ///< asked for, or "auto"
  std::size_t elements = 0;
  ElementType type = ElementType::f32;
  int ranks = 1;
  bool gathers = false;   ///< an allgather: each part is of one rank
  bool allreduce = true;  ///< SelectionInput's
  /// By rank: AlgorithmInput's.
  std::span<const std::uint32_t> nodes = {};
  std::span<const std::uint32_t> switches = {};
};

/// A spec as it is to be read: that of the codec which `auto` becomes, any other as it is.
struct ChosenCodec {
  std::string spec;
  std::string reason = {};  ///< of a choice, for the log; empty: there was none
};

/// @throws Error(invalid_argument) for `auto` without nmse or with other parameters, an nmse that
/// is none, or one that no codec keeps.
ChosenCodec choose_codec(std::string_view spec, const AutoCodecQuestion& question);

}  // namespace cohom
