#pragma once
// thc: rotated, quantised vectors whose integer codes are summed as they are (Li et al., THC:
// Accelerating Distributed Deep Learning Using Tensor Homomorphic Compression, NSDI'24,
// arXiv 2302.08545). The wire is specified in docs/wire-format.md, "thc".
//
// Rounds: `norms` agrees on a scale by max, `payload` adds lanes, `escape` adds the elements of
// blocks that hold a NaN or an infinity on any rank, exactly and in rank order.

#include "codecs/common/codec_row.hpp"

#include <memory>

namespace cohom {

/// @throws Error(invalid_argument), see parse_thc_options().
std::unique_ptr<Codec> make_thc(const CodecContext& context);

const CodecRow& thc_codec();

}  // namespace cohom
