#include "memory/device_code.hpp"

#include "base/text.hpp"

#include <cohom/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace cohom {

namespace {

using kernels::ComputeCapability;

/// "sm_90", "sm_90a", "sm_100f": what is behind `kind`, if it is that.
std::optional<std::string_view> behind(std::string_view name, std::string_view kind) {
  if (!name.starts_with(kind)) return std::nullopt;
  return name.substr(kind.size());
}

/// PTX becomes code of any newer device, code stays within a generation. A letter ties both to what
/// they were made for: `a` to the very device, `f` to its family.
bool one_runs_on(std::string_view name, ComputeCapability device) {
  const auto virtual_one = behind(name, "compute_");
  std::string_view number = virtual_one ? *virtual_one : behind(name, "sm_").value_or("");
  char letter = ' ';
  if (number.ends_with('a') || number.ends_with('f')) {
    letter = number.back();
    number.remove_suffix(1);
  }
  const auto digits = parse_number<int>(number);
  if (!digits) return false;
  const ComputeCapability made{*digits / 10, *digits % 10};
  if (letter == 'a') return device == made;
  if (letter == ' ' && virtual_one) return device >= made;
  return device.major == made.major && device.minor >= made.minor;
}

}  // namespace

bool runs_on(std::string_view code, ComputeCapability device) {
  while (!code.empty()) {
    const std::size_t end = std::min(code.find(' '), code.size());
    if (one_runs_on(code.substr(0, end), device)) return true;
    code.remove_prefix(std::min(end + 1, code.size()));
  }
  return false;
}

void expect_code(const kernels::DeviceLibrary& library, int device) {
  const ComputeCapability found = library.runtime->capability(device);
  if (runs_on(library.code, found)) return;
  throw Error(
      ErrorKind::unsupported,
      fmt::format("device {} ({}) has compute capability {}.{}, and the library's kernels are "
                  "for {} (PTX of compute_80 runs from 8.0 on, code of sm_90 on 9.x); build cohom "
                  "with COHOM_CUDA_ARCHITECTURES={}{}, or give buffers of another device",
                  device, library.runtime->device_name(device), found.major, found.minor,
                  library.code, found.major, found.minor));
}

}  // namespace cohom
