#pragma once
// The round of thc in which ranks agree on the norms of blocks. Specified in docs/wire-format.md,
// "thc".

#include "codecs/common/block_scale.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/thc/thc_options.hpp"

#include <memory>

namespace cohom {

/// A norm a block, or with scale=global one for the vector. `format` and `call` outlive it.
std::unique_ptr<BlockScale> make_thc_norms(const CodecContext& context, const ThcOptions& options,
                                           const kernels::ThcFormat& format,
                                           const CallBuffers& call);

}  // namespace cohom
