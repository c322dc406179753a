#pragma once
// lowrank: the vector as a matrix, of which a few columns and rows travel: two rounds of sums, both
// linear, and one power iteration a call (Vogels, Karimireddy, Jaggi, "PowerSGD", NeurIPS'19,
// algorithm 1). What a rank's matrix has beyond it may add to its next one (error feedback).
// Specified in docs/wire-format.md, "lowrank".

#include "codecs/common/codec_row.hpp"

#include <memory>

namespace cohom {

/// @throws Error(invalid_argument), see parse_lowrank_options().
std::unique_ptr<Codec> make_lowrank(const CodecContext& context);

const CodecRow& lowrank_codec();

}  // namespace cohom
