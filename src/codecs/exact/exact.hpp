#pragma once
// exact: the correctly rounded sum, the same bits whatever the algorithm, the order and the ranks.

#include "codecs/common/codec_row.hpp"

namespace cohom {

const CodecRow& exact_codec();

}  // namespace cohom
