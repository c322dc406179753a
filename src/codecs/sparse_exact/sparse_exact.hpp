#pragma once
// sparse+exact: the correctly rounded sum of the elements that are not zero on some rank. Those
// that are +0 on all ranks have the sum +0, and -0 is no zero for the index: all bits are those of
// exact.

#include "codecs/common/codec_row.hpp"

namespace cohom {

const CodecRow& sparse_exact_codec();

}  // namespace cohom
