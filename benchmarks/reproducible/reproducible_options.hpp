#pragma once
// The command line of cohom-reproducible.

#include "command_line.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cohom::bench {

struct ReproducibleOptions {
  std::vector<std::string> methods = {};     ///< all when it was not given
  std::size_t bytes = std::size_t{1} << 20;  ///< of each vector
  std::size_t vectors = 64;                  ///< of all ranks together
  ElementType type = ElementType::f32;       ///< or f64
  std::string input = "gauss";
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> deal = {};  ///< seed of a random deal; nothing: blocks
  int iterations = 0;                      ///< 0: as many as fit the time
  bool check_only = false;
  std::string json_path = {};
  std::string results_folder = {};
  std::string command = {};  ///< the command line, for the report

  [[nodiscard]] std::size_t elements() const { return bytes / size_of(type); }
};

/// @throws UsageError naming the flag, what was given and what would be right
std::variant<ReproducibleOptions, Information> parse_reproducible_options(int argc,
                                                                          const char* const* argv);

}  // namespace cohom::bench
