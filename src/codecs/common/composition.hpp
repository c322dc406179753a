#pragma once
// SparseComposition: a codec "sparse+NAME": another codec on what sparse's index leaves of a
// vector. What all of them have in common; each is a row of the table of its own.

#include "codecs/common/codec_row.hpp"
#include "codecs/common/parameters.hpp"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cohom {

struct SparseComposition {
  std::string_view name;                       ///< of the whole
  const CodecRow& (*inner)();                  ///< see CompactedCodec for what it may be
  std::span<const std::string_view> left_out;  ///< the inner codec's parameters that are not taken

  /// sparse's parameters, and the inner codec's that are taken.
  [[nodiscard]] std::vector<ParameterInfo> parameters() const;
  /// Those that the inner codec is given.
  [[nodiscard]] Parameters of_inner(const Parameters& given) const;
  /// @throws what parse_sparse_options() and the inner codec's row throw
  [[nodiscard]] std::unique_ptr<Codec> make(const CodecContext& context) const;
};

}  // namespace cohom
