#pragma once
// Values for programs that measure times alone.

#include <cstddef>
#include <vector>

namespace cohom::bench {

/// Between -1 and 1, the same ones each time.
inline std::vector<float> some_values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i * 2654435761u % 1009) / 504.5f - 1;
  return values;
}

}  // namespace cohom::bench
