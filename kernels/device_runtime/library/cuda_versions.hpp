#pragma once
// What the versions of a driver and of CUDA's runtime have to do with each other, in words.

#include <string>

namespace cohom::kernels::device {

/// 12040 is "12.4".
inline std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// A driver runs what was built with any CUDA of its own major version and of older ones; PTX it
/// compiles up to its own version. `driver` 0: there is none.
inline std::string versions_text(int driver, int runtime) {
  if (driver == 0) return "there is no NVIDIA driver";
  std::string text = "the driver is for CUDA " + version_text(driver) +
                     ", the library was built with CUDA " + version_text(runtime);
  if (driver / 1000 < runtime / 1000)
    text += " and needs a driver for CUDA " + version_text(runtime / 1000 * 1000) + " or newer";
  else if (driver < runtime)
    text += ", whose PTX it does not compile";
  return text;
}

}  // namespace cohom::kernels::device
