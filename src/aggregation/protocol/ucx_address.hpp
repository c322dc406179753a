#pragma once
// UcxAddress: where UCX reaches a worker, as the control channel carries it. UCX itself trusts its
// addresses: a wrong byte ends the process that connects, so what comes is checked here first.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cohom::offload {

/// Of a UCX library, as it says itself: major, minor, release.
using UcxVersion = std::array<std::uint32_t, 3>;
std::string to_string(const UcxVersion& version);

/// A worker with many transports and devices has some hundred bytes.
inline constexpr std::size_t max_ucx_address_bytes = 8192;

struct UcxAddress {
  UcxVersion version{};
  std::uint64_t checksum = 0;  ///< XXH3-64 of the bytes, by the library that asked UCX for them
  std::string bytes;           ///< what ucp_worker_get_address() said; empty: there is none
  friend bool operator==(const UcxAddress&, const UcxAddress&) = default;
};

/// Of the bytes that UCX of that version has just given.
UcxAddress make_ucx_address(const UcxVersion& version, std::span<const std::byte> bytes);

/// The bytes for UCX. `who` is whose address it is, for errors.
/// @throws Error(unsupported) for a UCX of another major or minor version than `own`, whose
/// addresses may look different, Error(transport) for a wrong length or checksum.
std::span<const std::byte> checked_bytes(const UcxAddress& address, const UcxVersion& own,
                                         std::string_view who);

}  // namespace cohom::offload
