#pragma once
// Reads NumPy's .npy files, and .npz archives of them; writes .npy files.
//
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

#include <cohom/element_type.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace cohom::bench {

/// What is wrong with an input file: names the file, what was found, and what would be right.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A matrix [rows, columns] in C order; neither is zero.
struct NpyArray {
  ElementType type = ElementType::f32;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::byte> bytes;

  [[nodiscard]] std::vector<double> row(std::size_t index) const;
};

/// Takes the content of a .npy file: format version 1 to 3, '<f4', '<f8' or '<f2', C order, one or
/// two dimensions (one is a single row). `name` is for messages.
/// @throws InputError
NpyArray parse_npy(std::span<const std::byte> content, const std::string& name);

/// The content of a .npy file, format version 1, that holds `elements` of f32 or f64 in one
/// dimension.
std::string npy_content(ElementType type, std::span<const std::byte> elements);

/// Reads a .npy or .npz file, told apart by their first bytes. Of an archive it takes the member
/// `gradients`, or the only one.
/// @throws InputError
NpyArray read_array(const std::filesystem::path& path);

/// The member's bytes out of an archive; `name` gets the member's name. For read_array.
std::vector<std::byte> read_npz_member(const std::filesystem::path& path, std::string& name);

}  // namespace cohom::bench
