#include "ucx_transport/handshake.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstring>

namespace cohom::ucx {

namespace {

/// What lies before the place and the address.
struct Head {
  std::uint64_t magic = 0x32786375'6d6f686f;  // "ohomucx2"
  std::uint64_t worker = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t group = 0;
  std::uint64_t place_bytes = 0;
};

[[noreturn]] void refuse() {
  throw Error(ErrorKind::transport, "ranks run different versions of cohom");
}

}  // namespace

std::vector<std::byte> to_bytes(const Introduction& introduction) {
  const Head head{.worker = introduction.worker,
                  .message_bytes = introduction.message_bytes,
                  .group = introduction.group,
                  .place_bytes = introduction.place.size()};
  std::vector<std::byte> bytes(sizeof head + introduction.place.size() +
                               introduction.address.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  const auto address = std::ranges::copy(introduction.place, bytes.begin() + sizeof head).out;
  std::ranges::copy(introduction.address, address);
  return bytes;
}

Introduction introduction_of(const std::vector<std::byte>& bytes) {
  Head head;
  const std::uint64_t magic = head.magic;
  if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
  if (bytes.size() < sizeof head || head.magic != magic) refuse();
  if (head.place_bytes > bytes.size() - sizeof head) refuse();
  const auto place = bytes.begin() + sizeof head;
  const auto address = place + static_cast<std::ptrdiff_t>(head.place_bytes);
  return {.worker = head.worker,
          .message_bytes = head.message_bytes,
          .group = static_cast<std::uint32_t>(head.group),
          .place = {place, address},
          .address = {address, bytes.end()}};
}

}  // namespace cohom::ucx
