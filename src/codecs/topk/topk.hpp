#pragma once
// topk: each rank's elements of largest magnitude, summed as sparse sums them: payloads are added
// without decoding. What a rank leaves out it may add to its next vector (error feedback: Stich,
// Cordonnier, Jaggi, "Sparsified SGD with memory", NeurIPS'18; Lin and others, "Deep gradient
// compression", ICLR'18). On the wire it is sparse, see docs/wire-format.md.

#include "codecs/common/codec_row.hpp"

#include <memory>

namespace cohom {

/// @throws Error(invalid_argument), see parse_topk_options().
std::unique_ptr<Codec> make_topk(const CodecContext& context);

const CodecRow& topk_codec();

}  // namespace cohom
