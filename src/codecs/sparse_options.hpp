#pragma once
// sparse's parameters.

#include "codecs/parameters.hpp"
#include "codecs/sparse_index.hpp"

#include <span>

namespace cohom {

struct SparseOptions {
  IndexForm index = IndexForm::two_level;
};

/// Every parameter of sparse, in the order cohom-info prints them.
std::span<const ParameterInfo> sparse_parameters();

/// @throws Error(invalid_argument) for an unknown parameter or a wrong value.
SparseOptions parse_sparse_options(const Parameters& parameters);

}  // namespace cohom
