#pragma once
// CompactedCodec: another codec on what is left of a vector without the elements that are zero on
// every rank. The wire is specified in docs/wire-format.md, "sparse+thc" and "sparse+exact".
//
// SparseIndex's rounds come first, then those of the inner codec. Each *unit*, a fixed number of
// elements of the vector, is compacted by itself and is a piece of the inner codec, which starts
// where the unit does: what the inner codec sees does not depend on chunks and segments, nor do its
// draws.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/common/compacted_units.hpp"
#include "codecs/common/index/sparse_index.hpp"

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace cohom {

class CompactedCodec final : public Codec {
 public:
  /// The inner codec keeps no state, its rounds have scope `piece` or are fallback rounds and do
  /// not wait for the payload, those whose length varies have a length(), any of its pieces may be
  /// ragged or empty, and it works in place. `name`: of the whole, which outlives it.
  CompactedCodec(const CodecContext& context, std::string_view name, const IndexOptions& index,
                 std::unique_ptr<Codec> inner);

  [[nodiscard]] std::size_t block() const override { return units_.unit_length(); }
  void reserve(std::size_t elements, std::size_t longest_piece) override;
  [[nodiscard]] std::size_t device_scratch(std::size_t elements, std::size_t) const override {
    return inner_->device_scratch(elements, units_.unit_length());
  }

 private:
  void start() override;

  std::size_t ranks_;
  std::unique_ptr<Codec> inner_;
  SparseIndex index_;
  CompactedUnits units_;
  std::vector<std::unique_ptr<Round>> rounds_;  ///< around the inner codec's
};

}  // namespace cohom
