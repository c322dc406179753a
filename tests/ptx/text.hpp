#pragma once
// Cutting PTX into words, lists and numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::ptx {

std::string trimmed(std::string_view text);

/// Parts between commas that lie in no bracket.
std::vector<std::string> list_of(std::string_view text);

std::vector<std::string> words_of(std::string_view text);

/// 12, -0x1f, 0f3F800000 and 0d3FF0000000000000 (bits of floats), WARP_SZ; else nothing.
std::optional<std::uint64_t> number_in(std::string_view text);

/// Bytes of a value of a type: ".b8", ".pred".
std::size_t bytes_of_type(std::string_view type);

}  // namespace cohom::ptx
