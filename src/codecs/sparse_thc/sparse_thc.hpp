#pragma once
// sparse+thc: thc on the elements that are not zero on some rank.

#include "codecs/common/codec_row.hpp"
#include "codecs/common/parameters.hpp"

#include <memory>
#include <span>

namespace cohom {

/// sparse's parameters and those of thc's that make sense for values whose places change from call
/// to call: no error feedback, no scale for the vector.
std::span<const ParameterInfo> sparse_thc_parameters();

/// @throws Error(invalid_argument), see parse_thc_options().
std::unique_ptr<Codec> make_sparse_thc(const CodecContext& context);

const CodecRow& sparse_thc_codec();

}  // namespace cohom
