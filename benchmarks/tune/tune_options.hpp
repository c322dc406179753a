#pragma once
// The command line of cohom-tune.

#include "command_line.hpp"

#include <cohom/element_type.hpp>
#include <cohom/reduction_kind.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace cohom::bench {

struct TuneOptions {
  std::vector<std::string> codecs = {"raw", "thc", "packed", "signcount"};
  std::vector<std::size_t> sizes = {};  ///< bytes of the vectors, with those half-way between two
  ElementType type = ElementType::f32;
  ReductionKind collective = ReductionKind::allreduce;  ///< a reduce's root is rank 0
  std::string input = "gauss";
  std::uint64_t seed = 1;
  int calls = 40;  ///< of each codec and size
  std::string path;
};

/// @throws UsageError
std::variant<TuneOptions, Information> parse_tune_options(int argc, const char* const* argv);

}  // namespace cohom::bench
