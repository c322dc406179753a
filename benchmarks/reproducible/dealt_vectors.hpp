#pragma once
// This rank's vectors: those that it was dealt, from a source.

#include "reproducible/local_vectors.hpp"
#include "reproducible/vector_source.hpp"

#include "npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cohom::bench {

/// Vectors of `elements` elements. `input` is for the message.
/// @throws InputError for elements that are not finite as T: most methods cannot add them
template <class T>
LocalVectors<T> make_vectors(VectorSource& source, std::span<const std::size_t> numbers,
                             std::size_t elements, const std::string& input) {
  constexpr std::size_t window = 1 << 15;  // elements made at a time: the doubles stay in cache
  LocalVectors<T> vectors(numbers.size(), elements);
  std::vector<double> values(std::min(window, elements));
  for (std::size_t k = 0; k < numbers.size(); ++k)
    for (std::size_t first = 0; first < elements; first += window) {
      const auto part = std::span(values).first(std::min(window, elements - first));
      source.generate(numbers[k], first, part);
      const std::span<T> out = vectors[k].subspan(first, part.size());
      std::ranges::transform(part, out.begin(), [](double value) { return static_cast<T>(value); });
      const auto wrong =
          std::ranges::find_if_not(out, [](T value) { return std::isfinite(value); });
      if (wrong != out.end())
        throw InputError(
            fmt::format("input '{}': element {} of vector {} is {} as f{}; all should "
                        "be finite",
                        input, first + static_cast<std::size_t>(wrong - out.begin()), numbers[k],
                        *wrong, 8 * sizeof(T)));
    }
  return vectors;
}

}  // namespace cohom::bench
