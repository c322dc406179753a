#pragma once
// How values are rounded to integers (docs/wire-format.md, "Random numbers").

#include <cstdint>

namespace cohom::kernels {

/// independent: every rank draws its own dither. correlated: the ranks' dithers are spread evenly
/// around one draw, so that the rounding error of a sum shrinks while each rank stays unbiased.
enum class Dither : std::uint8_t { nearest, independent, correlated };

}  // namespace cohom::kernels
