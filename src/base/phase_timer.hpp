#pragma once
// One phase of a profile that may not be wanted: then a comparison, and no clock is read.

#include <cohom/profile.hpp>

namespace cohom {

inline void end_phase(Profile* profile, Phase phase) {
  if (profile != nullptr) profile->end_phase(phase);
}

}  // namespace cohom
