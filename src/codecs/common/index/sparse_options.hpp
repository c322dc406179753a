#pragma once
// sparse's parameters, which are those of its index; other codecs that have one take them too.

#include "codecs/common/parameters.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace cohom {

enum class IndexForm : std::uint8_t { two_level, flat, bloom };

struct IndexOptions {
  IndexForm form = IndexForm::two_level;
  std::uint32_t probes =
      10;  ///< of a Bloom filter: 2^-probes of the elements outside are held to be in
};

std::span<const ParameterInfo> index_parameters();

/// Of a codec whose parameters are among others these.
IndexOptions read_index_options(const ParameterReader& reader);

/// Every parameter of sparse, in the order cohom-info prints them.
std::span<const ParameterInfo> sparse_parameters();

/// @throws Error(invalid_argument) that names `codec`, for an unknown parameter or a wrong value.
IndexOptions parse_sparse_options(const Parameters& parameters, std::string_view codec = "sparse");

}  // namespace cohom
