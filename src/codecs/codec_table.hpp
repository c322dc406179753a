#pragma once
// The list of codecs: one row each. Adding a codec is a folder in codecs/ and a row here
// (docs/adding-a-codec.md).

#include "codecs/common/codec_row.hpp"

#include <cohom/codec.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cohom {

std::span<const CodecRow> codec_table();

/// @throws Error(invalid_argument) naming the nearest codec when there is none of that name.
const CodecRow& find_codec(std::string_view name);

/// The spec with every parameter that differs from its default, in the table's order: specs with
/// equal texts mean the same.
std::string canonical_spec(const CodecRow& row, const Parameters& given);

}  // namespace cohom
