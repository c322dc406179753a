#include "codecs/common/lane_sums.hpp"

#include "codecs/common/codec.hpp"
#include "codecs/common/lane_layout.hpp"

#include <algorithm>

namespace cohom {

LaneSums::LaneSums(const kernels::KernelTable& kernels, std::size_t block, std::size_t ranks,
                   std::size_t workers)
    : kernels_(kernels), block_(block), added_(workers) {
  added_.for_each([&](Added& added) {
    added.sources.reserve(ranks);
    added.words.reserve(ranks);
  });
}

void LaneSums::add(ConstPayload words, unsigned width) {
  Added& added = added_.mine();
  added.sources.push_back({words.data(), width});
  added.words.push_back(words.data());
}

void LaneSums::write(std::size_t elements, unsigned width, Payload sum) {
  auto& [sources, words] = added_.mine();
  const std::size_t ragged = elements % block_;
  if (std::ranges::all_of(sources, [&](const auto& source) { return source.width == width; }))
    kernels_.merge({MergeKind::add}, words.data(), words.size(),
                   8 * words_of_run(elements, block_, width), sum.data());
  else
    kernels_.widen({.values = block_,
                    .blocks = elements / block_,
                    .rest = ragged == 0 ? 0 : std::min(padded_block(ragged), block_)},
                   sources.data(), sources.size(), width, sum.data());
  sources.clear();
  words.clear();
}

}  // namespace cohom
