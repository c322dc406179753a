#pragma once
// VectorSource: makes the vectors that are dealt to the ranks.

#include "inputs.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohom::bench {

/// Vector v of a synthetic input is what rank v of cohom-bench would have. Of a file with r rows it
/// comes from row v mod r, extended as cohom-bench extends it: from element (v / r) * elements on,
/// so that no two vectors are the same elements.
class VectorSource {
 public:
  /// @throws InputError
  VectorSource(const std::string& spec, std::uint64_t seed, std::size_t vectors,
               std::size_t elements);

  /// Writes elements first ... first + out.size() - 1 of a vector.
  void generate(std::size_t vector, std::size_t first, std::span<double> out);

 private:
  std::size_t elements_;
  std::vector<std::unique_ptr<Input>> inputs_;  ///< one for each row of a file, or each vector
};

}  // namespace cohom::bench
