#include "codecs/common/lane_sums.hpp"

#include "codecs/common/codec.hpp"
#include "codecs/common/lane_layout.hpp"

#include <algorithm>

namespace cohom {

LaneSums::LaneSums(const kernels::KernelTable& kernels, std::size_t block, std::size_t ranks)
    : kernels_(kernels), block_(block) {
  sources_.reserve(ranks);
  words_.reserve(ranks);
}

void LaneSums::add(ConstPayload words, unsigned width) {
  sources_.push_back({words.data(), width});
  words_.push_back(words.data());
}

void LaneSums::write(std::size_t elements, unsigned width, Payload sum) {
  const std::size_t ragged = elements % block_;
  if (std::ranges::all_of(sources_, [&](const auto& source) { return source.width == width; }))
    kernels_.merge({MergeKind::add}, words_.data(), words_.size(),
                   8 * words_of_run(elements, block_, width), sum.data());
  else
    kernels_.widen({.values = block_,
                    .blocks = elements / block_,
                    .rest = ragged == 0 ? 0 : std::min(padded_block(ragged), block_)},
                   sources_.data(), sources_.size(), width, sum.data());
  sources_.clear();
  words_.clear();
}

}  // namespace cohom
