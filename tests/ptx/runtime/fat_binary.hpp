#pragma once
// The PTX in what nvcc puts into an object file.

#include <cstdint>
#include <string>

namespace cohom::ptx {

struct EmbeddedPtx {
  std::string text;
  unsigned architecture;  ///< 80 of compute_80
};

/// Of the first PTX there is. @throws std::runtime_error where there is none, or it is compressed
EmbeddedPtx embedded_ptx(const std::uint8_t* fat_binary);

}  // namespace cohom::ptx
