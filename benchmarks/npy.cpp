#include "npy.hpp"

#include "element_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>

namespace cohom::bench {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::string_view zip_magic = "PK";
constexpr std::size_t prefix_bytes = 8;  // magic and version
// NumPy itself refuses longer headers; anything longer is not a header.
constexpr std::size_t max_header_bytes = 10000;

template <class... Arguments>
[[noreturn]] void fail(const std::string& name, fmt::format_string<Arguments...> format,
                       Arguments&&... arguments) {
  throw InputError(name + ": " + fmt::format(format, std::forward<Arguments>(arguments)...));
}

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t little_endian(std::span<const std::byte> bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | std::to_integer<std::size_t>(bytes[i]);
  return value;
}

struct Header {
  std::string text;
  std::size_t data_begin = 0;
};

Header find_header(std::span<const std::byte> content, const std::string& name) {
  if (content.empty()) fail(name, "the file is empty; it should be a .npy or .npz file");
  if (!text(content).starts_with(npy_magic.substr(0, std::min(content.size(), npy_magic.size()))))
    fail(name, "is no .npy file: it does not start with \\x93NUMPY");
  if (content.size() < prefix_bytes)
    fail(name, "truncated: {} bytes, less than a header", content.size());
  const auto version = std::to_integer<int>(content[6]);
  if (version < 1 || version > 3)
    fail(name, "has .npy format version {}; versions 1 to 3 can be read", version);
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (content.size() < prefix_bytes + length_bytes)
    fail(name, "truncated: {} bytes, less than a header", content.size());
  const std::size_t length = little_endian(content.subspan(prefix_bytes, length_bytes));
  const std::size_t begin = prefix_bytes + length_bytes;
  if (length > max_header_bytes)
    fail(name, "header of {} bytes; at most {} make sense", length, max_header_bytes);
  if (content.size() - begin < length)
    fail(name, "truncated: the header should have {} bytes, {} are there", length,
         content.size() - begin);
  return {std::string(text(content.subspan(begin, length))), begin + length};
}

/// The text between `open` and `close` behind one key of the header, which is a Python dictionary
/// as NumPy prints it: {'descr': '<f4', 'fortran_order': False, 'shape': (4, 1000), }
std::string header_value(const Header& header, std::string_view key, char open, char close,
                         const std::string& name, std::string_view right) {
  const std::string& text = header.text;
  std::size_t begin = text.find(fmt::format("'{}':", key));
  if (begin != std::string::npos) begin = text.find_first_not_of(' ', begin + key.size() + 3);
  if (begin != std::string::npos && text[begin] == open) {
    const std::size_t end = text.find(close, begin + 1);
    if (end != std::string::npos) return text.substr(begin + 1, end - begin - 1);
  }
  fail(name, "header without a usable '{}'; it should be {}", key, right);
}

/// In the header a bare True or False.
bool fortran_order(const Header& header, const std::string& name) {
  if (header.text.find("'fortran_order': True") != std::string::npos) return true;
  if (header.text.find("'fortran_order': False") != std::string::npos) return false;
  fail(name, "header without a usable 'fortran_order'; it should be False");
}

ElementType parse_type(const std::string& descr, const std::string& name) {
  if (descr == "<f4") return ElementType::f32;
  if (descr == "<f8") return ElementType::f64;
  if (descr == "<f2") return ElementType::f16;
  fail(name, "has dtype '{}'; it should be '<f4', '<f8' or '<f2' (array.astype('<f4'))", descr);
}

std::vector<std::size_t> parse_shape(const std::string& shape, const std::string& name) {
  std::vector<std::size_t> sizes;
  const char* const end = shape.data() + shape.size();
  for (const char* at = shape.data(); at != end;) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::size_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc{})
      fail(name, "header with shape ({}), which is no list of sizes", shape);
    sizes.push_back(size);
    at = next;
  }
  if (sizes.size() != 1 && sizes.size() != 2)
    fail(name, "has shape ({}), {} dimensions; it should be [ranks, d] or [d]", shape,
         sizes.size());
  if (std::ranges::find(sizes, 0u) != sizes.end()) fail(name, "has shape ({}): no elements", shape);
  return sizes;
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    fail(path.string(), "is a directory, not a .npy or .npz file");
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) fail(path.string(), "cannot be opened: {}", std::strerror(errno));
  const std::streamoff size = stream.tellg();
  if (size < 0) fail(path.string(), "is no regular file; .npy and .npz files are read twice");
  std::vector<std::byte> content(static_cast<std::size_t>(size));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(content.data()),
              static_cast<std::streamsize>(content.size()));
  if (!stream) fail(path.string(), "cannot be read: {}", std::strerror(errno));
  return content;
}

}  // namespace

std::vector<double> NpyArray::row(std::size_t index) const {
  std::vector<double> values(columns);
  load(type, bytes.data() + index * columns * size_of(type), values);
  return values;
}

NpyArray parse_npy(std::span<const std::byte> content, const std::string& name) {
  const Header header = find_header(content, name);
  NpyArray array;
  array.type =
      parse_type(header_value(header, "descr", '\'', '\'', name, "'<f4', '<f8' or '<f2'"), name);
  if (fortran_order(header, name))
    fail(name, "is in Fortran order; it should be in C order (numpy.ascontiguousarray)");
  const auto shape = parse_shape(header_value(header, "shape", '(', ')', name, "(ranks, d)"), name);
  array.rows = shape.size() == 2 ? shape[0] : 1;
  array.columns = shape.back();

  const std::size_t largest = std::numeric_limits<std::size_t>::max() / size_of(array.type);
  if (array.columns > largest / array.rows) fail(name, "has an impossible shape");
  const std::size_t expected = array.rows * array.columns * size_of(array.type);
  const auto data = content.subspan(header.data_begin);
  if (data.size() < expected)
    fail(name, "truncated: {} x {} {} elements take {} bytes, {} are there", array.rows,
         array.columns, name_of(array.type), expected, data.size());
  if (data.size() > expected)
    fail(name, "too long: {} x {} {} elements take {} bytes, {} are there", array.rows,
         array.columns, name_of(array.type), expected, data.size());
  array.bytes.assign(data.begin(), data.end());
  return array;
}

std::string npy_content(ElementType type, std::span<const std::byte> elements) {
  constexpr std::size_t alignment = 64, fixed_bytes = prefix_bytes + 2;
  std::string header =
      fmt::format("{{'descr': '<f{0}', 'fortran_order': False, 'shape': ({1},), }}", size_of(type),
                  elements.size() / size_of(type));
  const std::size_t padded =
      (fixed_bytes + header.size() + 1 + alignment - 1) / alignment * alignment;
  header.resize(padded - fixed_bytes - 1, ' ');
  header += '\n';
  std::string content(npy_magic);
  content += {1, 0, static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)};
  content += header;
  return content.append(text(elements));
}

NpyArray read_array(const std::filesystem::path& path) {
  std::vector<std::byte> content = read_file(path);
  std::string name = path.string();
  if (text(content).starts_with(zip_magic)) content = read_npz_member(path, name);
  return parse_npy(content, name);
}

}  // namespace cohom::bench
