#pragma once
// marsit: one bit a value through any number of hops (Wu et al., Sign Bit is Enough: A Learning
// Synchronization Framework for Multi-hop All-reduce with Ultimate Compression, DAC'22,
// arXiv 2204.06787). The paper merges at every hop by a coin; its result is the sign of one rank,
// chosen uniformly. Here the ranks share the choice, so that merging is `or`: the same law, but
// independent of the order of hops. The wire is specified in docs/wire-format.md, "marsit".

#include "codecs/common/codec_row.hpp"

#include <memory>

namespace cohom {

/// @throws Error(invalid_argument), see parse_marsit_options().
std::unique_ptr<Codec> make_marsit(const CodecContext& context);

const CodecRow& marsit_codec();

}  // namespace cohom
