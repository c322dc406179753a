#pragma once
// What the tests of the benchmark's inputs share.

#include "inputs.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohom::bench::input_case {

inline constexpr std::uint64_t seed = 1;

/// A rank's whole vector.
inline std::vector<double> make(const std::string& spec, std::size_t count, int rank = 0,
                                std::uint64_t with_seed = seed) {
  std::vector<double> values(count);
  const auto input = make_input(spec, with_seed, rank);
  input->set_length(count);
  input->generate(0, values);
  return values;
}

}  // namespace cohom::bench::input_case
