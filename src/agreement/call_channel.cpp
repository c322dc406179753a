#include "agreement/call_channel.hpp"

#include <cohom/error.hpp>

#include <string>

namespace cohom {

void CallChannel::try_send(std::span<const std::byte> bytes, int peer, std::uint32_t tag) {
  try {
    send(bytes, peer, tag);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::transport) throw;
    complete();
  }
}

void CallChannel::expect_bytes(std::size_t arrived, std::size_t right, int from) {
  if (arrived != right)
    throw Error(ErrorKind::transport,
                "the agreement of a call: " + std::to_string(arrived) + " bytes came from rank " +
                    std::to_string(from) + " where " + std::to_string(right) +
                    " were expected; do all ranks run the same version of cohom?");
}

void CallChannel::throw_changed(int from) {
  throw Error(ErrorKind::transport, "the agreement of a call: words of rank " +
                                        std::to_string(from) + " were changed on their way");
}

}  // namespace cohom
