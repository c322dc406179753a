#pragma once
// TopkSelection: which elements of a vector topk sends, those of largest magnitude.
//
// exact: a radix select on the bits of magnitudes finds the k-th largest one; of equals the first
// ones are taken. threshold: magnitudes are taken for exponentially distributed beyond a limit,
// again and again beyond the next one (SIDCo, MLSys'21, section 2.3 with its multi-stage fit),
// until about k are left. Where that is off by more than a factor of 2, it is as exact.
//
// NaN and infinity are always taken, zeros never.

#include "codecs/topk/topk_options.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace cohom {

class TopkSelection {
 public:
  explicit TopkSelection(const TopkOptions& options);

  /// Writes the elements that are taken to `selected`, and +0 in place of the others. `feedback`:
  /// one arithmetic value an element (feedback_size()) that is added before, and becomes what is
  /// not sent; empty: none. The two vectors do not overlap, and may lie at any address.
  void select(ElementType type, const void* input, std::size_t count, std::span<std::byte> feedback,
              void* selected);

 private:
  template <class T>
  void select_of(const void* input, std::size_t count, std::byte* feedback, void* selected);

  TopkOptions options_;
  std::vector<std::size_t> histogram_;  ///< of a digit of magnitudes
};

}  // namespace cohom
