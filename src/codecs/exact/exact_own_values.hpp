#pragma once
// What the rounds whose fields take words of their own share: this rank's numbers, and widths.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/exact/exact_accumulator.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/exact/body/exact_wide.hpp"

#include <cstddef>

namespace cohom {

/// With room for all ranks' contributions.
inline kernels::body::ExactWidths exact_widths_of(const CodecContext& context) {
  const auto ranks = static_cast<std::size_t>(context.ranks);
  return {{ranks, ranks}, context.type};
}

/// This rank's numbers from an element on, counted from the bit at `low`.
template <class T>
class ExactOwnValues {
 public:
  /// `elements`: those of the input from `first` on, in the host's memory.
  ExactOwnValues(const CallBuffers& call, std::size_t first, const void* elements)
      : added_(call.added), first_(first), elements_(elements) {}
  [[nodiscard]] kernels::body::ExactValue operator()(std::size_t index, unsigned low) const {
    if (added_ != nullptr) return added_->value(first_ + index, low);
    return kernels::body::ExactValue::of(kernels::body::load_raw<T>(elements_, index), low);
  }

 private:
  const ExactAccumulator* added_;
  std::size_t first_;
  const void* elements_;
};

}  // namespace cohom
