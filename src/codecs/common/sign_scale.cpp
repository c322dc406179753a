#include "codecs/common/sign_scale.hpp"

#include "codecs/common/block_sign_scale.hpp"

#include <algorithm>

namespace cohom {

using kernels::sign_block;

void SignScale::find_outliers(std::span<const Piece> pieces, OutlierBlocks& outliers) {
  for (const Piece& piece : pieces) {
    const auto found = scales(piece);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] < 0)
        outliers.add(piece.first + i * sign_block,
                     std::min(sign_block, piece.count - i * sign_block));
  }
}

std::unique_ptr<SignScale> make_sign_scale(const SignScaleSetup& setup) {
  if (setup.options.kind != SignScaleKind::block) return make_common_sign_scale(setup);
  return make_block_sign_scale(setup);
}

}  // namespace cohom
