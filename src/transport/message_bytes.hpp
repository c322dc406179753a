#pragma once
// COHOM_MESSAGE_BYTES: the size of messages, where the user knows better than the transport.

#include <cohom/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

/// 0 when it is not set. @throws Error(invalid_argument) for what is no size of messages.
std::size_t message_bytes_of_environment();

/// Both ends of a message must cut payloads alike, so it must be the same on all ranks. `by_rank`:
/// theirs. @throws Error(mismatch)
void expect_same_message_bytes(std::span<const std::uint64_t> by_rank);

}  // namespace cohom
