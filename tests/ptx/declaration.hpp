#pragma once
// Declarations of variables and parameters: ".shared .align 16 .b8 name[12] = {1, 2}".

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::ptx {

struct Declaration {
  std::string name;
  std::size_t alignment = 1;
  std::size_t bytes = 0;
  std::size_t element_bytes = 1;
  std::vector<std::string> values;  ///< as they stand
};

/// @throws Fault for a number that is none
Declaration declaration_of(std::string_view text);

/// The values at the beginning of so many bytes, zeros behind. @throws Fault for a value that is no
/// number
std::vector<std::uint8_t> initial_bytes(const Declaration& declaration);

/// Offset of the next thing in a piece that is laid out one after the other.
constexpr std::size_t aligned_offset(std::size_t end, std::size_t alignment) {
  return (end + alignment - 1) / alignment * alignment;
}

}  // namespace cohom::ptx
