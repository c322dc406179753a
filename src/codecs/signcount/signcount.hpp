#pragma once
// signcount: one bit a value up, exact counts of plus signs down, or one bit back by majority vote
// (Bernstein et al., signSGD with majority vote, ICLR'19, arXiv 1810.05291; scale and feedback as
// in Karimireddy et al., Error Feedback Fixes SignSGD, ICML'19, arXiv 1901.09847). The wire is
// specified in docs/wire-format.md, "signcount".

#include "codecs/common/codec_row.hpp"

#include <memory>

namespace cohom {

/// @throws Error(invalid_argument), see parse_signcount_options().
std::unique_ptr<Codec> make_signcount(const CodecContext& context);

const CodecRow& signcount_codec();

}  // namespace cohom
