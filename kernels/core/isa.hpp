#pragma once
// Which instruction set the kernels run on. Every one gives the same bits.

#include <cstdint>
#include <span>
#include <string_view>

namespace cohom::kernels {

/// scalar is the plain C++ reference in kernels/body; the next ones are one Highway source compiled
/// for several targets. `device` is no instruction set of this machine's, but that of a device's
/// table.
enum class Isa : std::uint8_t { scalar, sse4, avx2, avx512, neon, device };

constexpr std::string_view name_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::scalar: return "scalar";
    case Isa::sse4: return "sse4";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::neon: return "neon";
    case Isa::device: return "device";
  }
  return "?";
}

/// What this build has and this machine can run, ascending; always starts with scalar.
std::span<const Isa> supported_isas();

/// The best supported one, or what the environment variable COHOM_ISA names. Decided once.
/// @throws Error(invalid_argument) when COHOM_ISA names something unknown or not supported here.
Isa active_isa();

}  // namespace cohom::kernels
