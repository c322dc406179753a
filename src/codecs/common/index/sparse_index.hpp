#pragma once
// SparseIndex: the rounds that agree on which elements are not zero on any rank, for codecs that
// send those alone. The wire is specified in docs/wire-format.md, "sparse"; union_index.hpp has the
// forms.

#include "codecs/common/index/union_index.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace cohom {

class SparseIndex {
 public:
  /// The agreed positions of one piece.
  struct Union {
    const std::uint64_t* bits = nullptr;  ///< bitmap_words(elements of the piece), the host's
    std::size_t elements = 0;             ///< that are in the union
  };

  /// `codec`: the name that errors are said with; `call`: the codec's. What is referred to outlives
  /// it. `before_scan`: OwnPositions'.
  SparseIndex(const CodecContext& context, const IndexOptions& options, std::string_view codec,
              const CallBuffers& call, NeededBy needed_by = NeededBy::encoding,
              std::function<void()> before_scan = {});
  SparseIndex(const SparseIndex&) = delete;
  SparseIndex& operator=(const SparseIndex&) = delete;

  /// These come first in the codec's list, in this order.
  [[nodiscard]] std::span<Round* const> rounds() { return form_->rounds(); }
  // As the codec's functions of these names. Pieces start at multiples of 256 elements.
  void reserve(std::size_t elements, std::size_t longest_piece);
  void start() { own_.start(); }

  /// The positions of this rank's own values, before anything is agreed on.
  [[nodiscard]] Union own(const Piece& piece);

  /// Valid until the next call of it.
  /// @throws Error(transport) when an index arrived that is none of this piece.
  [[nodiscard]] Union union_of(const Piece& piece);

  /// The bits of a piece where its elements lie, for kernels. Valid until the next call of any of
  /// these.
  [[nodiscard]] const std::uint64_t* beside_elements(const Union& positions, const Piece& piece) {
    return own_.beside_elements(positions.bits, piece);
  }

 private:
  const kernels::SparseKernels& host_;
  std::string_view codec_;
  OwnPositions own_;
  std::unique_ptr<UnionIndex> form_;
};

}  // namespace cohom
