#include "fat_binary.hpp"

#include <cstring>
#include <stdexcept>

namespace cohom::ptx {
namespace {

template <class T>
T read(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Of the whole, and of each entry: a header, then so many bytes.
struct Header {
  explicit Header(const std::uint8_t* at)
      : bytes(read<std::uint16_t>(at + 6)), rest(read<std::uint64_t>(at + 8)) {}
  std::size_t bytes, rest;
};
struct EntryHeader {
  explicit EntryHeader(const std::uint8_t* at)
      : kind(read<std::uint16_t>(at)),
        bytes(read<std::uint32_t>(at + 4)),
        rest(read<std::uint64_t>(at + 8)),
        architecture(read<std::uint32_t>(at + 28)) {}
  static constexpr std::uint16_t ptx = 1;

  std::uint16_t kind;
  std::size_t bytes, rest;
  unsigned architecture;
};

}  // namespace

EmbeddedPtx embedded_ptx(const std::uint8_t* fat_binary) {
  const Header whole(fat_binary);
  const std::uint8_t* at = fat_binary + whole.bytes;
  const std::uint8_t* const end = at + whole.rest;
  while (at < end) {
    const EntryHeader entry(at);
    if (entry.kind != EntryHeader::ptx) {
      at += entry.bytes + entry.rest;
      continue;
    }
    std::string text(reinterpret_cast<const char*>(at + entry.bytes), entry.rest);
    while (text.ends_with('\0')) text.pop_back();
    if (text.find(".version") == std::string::npos)
      throw std::runtime_error("the PTX is compressed; nvcc needs -no-compress");
    return {std::move(text), entry.architecture};
  }
  throw std::runtime_error("a fat binary without PTX");
}

}  // namespace cohom::ptx
