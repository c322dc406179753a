#pragma once
// sparse: the elements that are not zero on some rank, summed as floating-point numbers in the
// order in which raw sums them: every bit of the result is raw's by the same algorithm. The wire is
// specified in docs/wire-format.md, "sparse".
//
// Rounds: those of SparseIndex agree by `or` on the union of all ranks' positions; `payload` adds
// the values there. A piece whose union spares no word travels as it is.

#include "codecs/common/codec_row.hpp"

#include <functional>
#include <memory>
#include <string_view>

namespace cohom {

/// @throws Error(invalid_argument), see parse_sparse_options().
std::unique_ptr<Codec> make_sparse(const CodecContext& context);
/// For a codec that makes sparse's input itself: `before_scan` is called before each piece of it is
/// first read. Errors name `codec`. @throws as make_sparse()
std::unique_ptr<Codec> make_lazy_sparse(const CodecContext& context, std::string_view codec,
                                        std::function<void()> before_scan);

const CodecRow& sparse_codec();

}  // namespace cohom
