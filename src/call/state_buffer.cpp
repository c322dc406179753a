#include "call/state_buffer.hpp"

#include <cohom/error.hpp>

#include <xxhash.h>

#include <cstddef>
#include <cstring>
#include <utility>

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

namespace {

/// From device to host; nothing else must be under way.
void fetch(void* to, const StateBuffer& state) {
  const DeviceWork::Use use(state.device.get());
  state.device->memory().to_host(to, state.there.data(), state.there.size());
}

}  // namespace

std::span<std::byte> StateBuffer::bring_to(const std::shared_ptr<DeviceWork>& work,
                                           std::size_t count) {
  if (device && device != work) {
    bytes.resize(there.size());
    fetch(bytes.data(), *this);
    there = {};
    device = nullptr;
  }
  if (!work) {
    bytes.resize(count);
    return bytes;
  }
  const DeviceWork::Use use(work.get());
  if (!device) {
    MemoryArray<std::byte> array(work->memory(), count);
    if (!bytes.empty()) work->memory().from_host(array.data(), bytes.data(), bytes.size());
    there = std::move(array);
    device = work;
    bytes = {};
  }
  return there.bytes();
}

std::vector<std::byte> StateBuffer::save(std::string_view other_key) const {
  const Header header{.step = step, .key_bytes = other_key.size(), .state_bytes = size()};
  std::vector<std::byte> saved(sizeof header + other_key.size() + size());
  std::byte* next = saved.data();
  std::memcpy(next, &header, sizeof header);
  next += sizeof header;
  std::memcpy(next, other_key.data(), other_key.size());
  next += other_key.size();
  if (device)
    fetch(next, *this);
  else if (!bytes.empty())
    std::memcpy(next, bytes.data(), bytes.size());
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
