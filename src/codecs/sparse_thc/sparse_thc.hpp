#pragma once
// sparse+thc: thc on the elements that are not zero on some rank. It takes those parameters of thc
// that make sense for values whose places change from call to call: no error feedback, no scale for
// the vector.

#include "codecs/common/codec_row.hpp"

#include <memory>

namespace cohom {

/// @throws Error(invalid_argument), see parse_thc_options().
std::unique_ptr<Codec> make_sparse_thc(const CodecContext& context);

const CodecRow& sparse_thc_codec();

}  // namespace cohom
