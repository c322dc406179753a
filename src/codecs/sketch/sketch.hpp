#pragma once
// sketch: lossless homomorphic compression (Li et al., 2024, arXiv 2402.07529). The elements that
// are not zero on some rank are added as a count sketch, and recovered exactly by peeling. Integer
// cells need `add` and `or` alone, so they may be added anywhere, in a switch too. The wire is
// specified in docs/wire-format.md, "sketch".
//
// Rounds: those of SparseIndex agree on the union of positions; `maximum` (integer cells) on the
// exponent of fixed point; `escapes` on blocks that hold what no cell can: NaN, infinities, numbers
// too large or, beside the largest, too small; `payload` adds the cells. Fallback: `escape`, those
// blocks, and `leftover`, elements that did not peel, which follows from the index alone.

#include "codecs/common/codec_row.hpp"

#include <memory>

namespace cohom {

/// @throws Error(invalid_argument), see parse_sketch_options().
std::unique_ptr<Codec> make_sketch(const CodecContext& context);

const CodecRow& sketch_codec();

}  // namespace cohom
