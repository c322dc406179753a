#pragma once
// raw: the elements themselves, summed as floating-point numbers in rank order. The baseline, and
// the oracle for schedules.

#include "codecs/common/codec_row.hpp"
#include "codecs/common/parameters.hpp"

#include <memory>
#include <span>

namespace cohom {

/// raw takes no parameters.
std::span<const ParameterInfo> raw_parameters();

/// @throws Error(invalid_argument) when any parameter is given.
std::unique_ptr<Codec> make_raw(const CodecContext& context);

const CodecRow& raw_codec();

}  // namespace cohom
