#include "kernels/core/isa.hpp"

#include "kernels/core/cpu/highway_targets.hpp"

#include <hwy/targets.h>
#include <cohom/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace cohom::kernels {
namespace {

std::vector<Isa> detect() {
  std::vector<Isa> isas = {Isa::scalar};
#if defined(__x86_64__)
  const auto targets = hwy::SupportedTargets() & HWY_TARGETS;
  if (targets & HWY_SSE4) isas.push_back(Isa::sse4);
  if (targets & HWY_AVX2) isas.push_back(Isa::avx2);
  if (targets & HWY_AVX3) isas.push_back(Isa::avx512);
#elif COHOM_HIGHWAY_TARGETS
  isas.push_back(Isa::neon);
#endif
  return isas;
}

Isa choose() {
  const auto isas = supported_isas();
  const char* name = std::getenv("COHOM_ISA");
  if (name == nullptr || *name == '\0') return isas.back();
  const auto found = std::ranges::find(isas, std::string_view(name), name_of);
  if (found != isas.end()) return *found;
  std::string message = std::string("COHOM_ISA=") + name + ": supported here are";
  for (auto isa : isas) message.append(" ").append(name_of(isa));
  throw Error(ErrorKind::invalid_argument, message);
}

}  // namespace

std::span<const Isa> supported_isas() {
  static const std::vector<Isa> isas = detect();
  return isas;
}

Isa active_isa() {
  static const Isa isa = choose();
  return isa;
}

}  // namespace cohom::kernels
