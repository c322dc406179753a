#include "state_buffer.hpp"

#include <cohom/error.hpp>

#include <xxhash.h>

#include <cstddef>
#include <cstring>

namespace cohom {

namespace {

struct Header {
  std::uint32_t magic = 0x4d484f43;  // "COHM"
  std::uint32_t version = 1;
  std::uint64_t step = 0;
  std::uint64_t key_bytes = 0;
  std::uint64_t state_bytes = 0;
  std::uint64_t checksum = 0;  ///< XXH3-64 of the header with 0 here, key and bytes
};

std::uint64_t checksum_of(Header header, std::span<const std::byte> rest) {
  header.checksum = 0;
  return XXH3_64bits_withSeed(rest.data(), rest.size(), XXH3_64bits(&header, sizeof header));
}

}  // namespace

std::vector<std::byte> StateBuffer::save() const {
  const Header header{.step = step, .key_bytes = key.size(), .state_bytes = bytes.size()};
  std::vector<std::byte> saved(sizeof header + key.size() + bytes.size());
  std::byte* next = saved.data();
  std::memcpy(next, &header, sizeof header);
  next += sizeof header;
  std::memcpy(next, key.data(), key.size());
  if (!bytes.empty()) std::memcpy(next + key.size(), bytes.data(), bytes.size());
  const std::uint64_t checksum = checksum_of(header, std::span(saved).subspan(sizeof header));
  std::memcpy(saved.data() + offsetof(Header, checksum), &checksum, sizeof checksum);
  return saved;
}

StateBuffer StateBuffer::restore(std::span<const std::byte> saved) {
  Header header;
  const auto reject = [&](const char* reason) {
    throw Error(ErrorKind::invalid_argument, "saved state of " + std::to_string(saved.size()) +
                                                 " bytes: " + reason +
                                                 "; give the bytes that save_state returned");
  };
  if (saved.size() < sizeof header) reject("too short");
  std::memcpy(&header, saved.data(), sizeof header);
  if (header.magic != Header{}.magic || header.version != Header{}.version)
    reject("not a saved state of this version");
  const std::size_t rest = saved.size() - sizeof header;
  if (header.key_bytes > rest || header.state_bytes != rest - header.key_bytes)
    reject("its length does not fit its header");
  if (header.checksum != checksum_of(header, saved.subspan(sizeof header)))
    reject("it was changed since it was saved");
  const std::byte* next = saved.data() + sizeof header;
  StateBuffer buffer;
  buffer.step = header.step;
  buffer.key.assign(reinterpret_cast<const char*>(next), header.key_bytes);
  buffer.bytes.assign(next + header.key_bytes, saved.data() + saved.size());
  return buffer;
}

}  // namespace cohom
