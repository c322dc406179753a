#include "ucx_transport/handshake.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstring>

namespace cohom::ucx {

namespace {

/// What lies before the address.
struct Head {
  std::uint64_t magic = 0x31786375'6d6f686f;  // "ohomucx1"
  std::uint64_t worker = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t group = 0;
};

}  // namespace

std::vector<std::byte> to_bytes(const Introduction& introduction) {
  const Head head{.worker = introduction.worker,
                  .message_bytes = introduction.message_bytes,
                  .group = introduction.group};
  std::vector<std::byte> bytes(sizeof head + introduction.address.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::ranges::copy(introduction.address, bytes.begin() + sizeof head);
  return bytes;
}

Introduction introduction_of(const std::vector<std::byte>& bytes) {
  Head head;
  const std::uint64_t magic = head.magic;
  if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
  if (bytes.size() < sizeof head || head.magic != magic)
    throw Error(ErrorKind::transport, "ranks run different versions of cohom");
  return {.worker = head.worker,
          .message_bytes = head.message_bytes,
          .group = static_cast<std::uint32_t>(head.group),
          .address = {bytes.begin() + sizeof head, bytes.end()}};
}

}  // namespace cohom::ucx
