#pragma once
// packed: integers of one common step, in mini-blocks of their own width, that are unpacked, added
// and packed again, never rounded on the way. Ours; the wire is specified in docs/wire-format.md,
// "packed".
//
// Rounds: those that agree on the step (`maximum`, and by add `histogram` for a mean budget or
// `energy` for an nmse; none with abs_error), `payload` by add_packed, `escape` for mini-blocks
// with values that no integer can hold.

#include "codecs/common/codec_row.hpp"

#include <memory>

namespace cohom {

/// @throws Error(invalid_argument), see parse_packed_options().
std::unique_ptr<Codec> make_packed(const CodecContext& context);

const CodecRow& packed_codec();

}  // namespace cohom
