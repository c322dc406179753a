#pragma once
// topk's parameters: what the user may write, and what it comes to for a vector.

#include "codecs/common/parameters.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

struct TopkOptions {
  enum class Select : std::uint8_t { exact, threshold };

  double fraction = 0.01;  ///< of a vector's elements that a rank contributes
  Select select = Select::exact;
  bool error_feedback = false;

  /// Of a vector of so many elements: at least one, if there is one.
  [[nodiscard]] std::size_t elements_of(std::size_t elements) const;
};

/// Every parameter of topk, in the order cohom-info prints them: its own, then sparse's.
std::span<const ParameterInfo> topk_parameters();

/// @throws Error(invalid_argument) for an unknown parameter or a wrong value.
TopkOptions parse_topk_options(const Parameters& given);

/// Those that sparse is given.
Parameters sparse_parameters_of_topk(const Parameters& given);

}  // namespace cohom
