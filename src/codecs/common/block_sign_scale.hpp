#pragma once
// Kind `block` of SignScale: the mean magnitude of every block, over all ranks.

#include "codecs/common/sign_scale.hpp"

#include <memory>

namespace cohom {

std::unique_ptr<SignScale> make_block_sign_scale(const SignScaleSetup& setup);

}  // namespace cohom
