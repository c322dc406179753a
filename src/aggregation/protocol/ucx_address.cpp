#include "aggregation/protocol/ucx_address.hpp"

#include <cohom/error.hpp>

#include <xxhash.h>

namespace cohom::offload {

namespace {

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

std::string to_string(const UcxVersion& version) {
  return std::to_string(version[0]) + "." + std::to_string(version[1]) + "." +
         std::to_string(version[2]);
}

UcxAddress make_ucx_address(const UcxVersion& version, std::span<const std::byte> bytes) {
  return {.version = version,
          .checksum = checksum_of(bytes),
          .bytes = {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
}

std::span<const std::byte> checked_bytes(const UcxAddress& address, const UcxVersion& own,
                                         std::string_view who) {
  const auto bytes = std::as_bytes(std::span(address.bytes));
  if (bytes.empty() || bytes.size() > max_ucx_address_bytes)
    throw Error(ErrorKind::transport,
                std::string(who) + " gave a UCX address of " + std::to_string(bytes.size()) +
                    " bytes; it must have 1 to " + std::to_string(max_ucx_address_bytes));
  if (address.version[0] != own[0] || address.version[1] != own[1])
    throw Error(ErrorKind::unsupported, std::string(who) + " runs UCX " +
                                            to_string(address.version) + " and this process UCX " +
                                            to_string(own) +
                                            "; both must have the same major and minor version");
  if (address.checksum != checksum_of(bytes))
    throw Error(ErrorKind::transport,
                std::string(who) + " gave a UCX address whose checksum is wrong");
  return bytes;
}

}  // namespace cohom::offload
