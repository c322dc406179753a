#pragma once
// Handshake: what ranks tell each other (transport/exchange.hpp) before they can send messages.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom::ucx {

/// What the others must know of a rank.
struct Introduction {
  std::uint64_t worker = 0;           ///< Worker::id()
  std::uint64_t message_bytes = 0;    ///< COHOM_MESSAGE_BYTES; 0: not set
  std::uint32_t group = 0;            ///< what the rank calls this group: a part of tags sent to it
  std::vector<std::byte> place = {};  ///< to_bytes() of its RankPlace
  std::vector<std::byte> address = {};
};

std::vector<std::byte> to_bytes(const Introduction& introduction);
/// @throws Error(transport) for bytes that are none: another version of the library.
Introduction introduction_of(const std::vector<std::byte>& bytes);

}  // namespace cohom::ucx
