#pragma once
// Frames to and from the switch's program (switch_program.h), whose own address is 0.0.0.0:0.

#include "aggregation/protocol/packet.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace cohom::test {

/// Where a packet comes from or goes. Network byte order.
struct Place {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

inline constexpr std::size_t udp_payload_at = 42;  ///< behind Ethernet's, IP's and UDP's headers

/// A frame whose UDP datagram is this.
inline std::vector<std::uint8_t> frame_of(const Place& from,
                                          std::span<const std::uint8_t> datagram) {
  std::vector<std::uint8_t> frame(udp_payload_at + datagram.size());
  const auto put = [&](std::size_t at, const auto& value) {
    std::memcpy(frame.data() + at, &value, sizeof value);
  };
  const auto big_endian = [](std::size_t value) {
    return static_cast<std::uint16_t>((value & 0xff) << 8 | (value >> 8 & 0xff));
  };
  put(12, big_endian(0x0800));  // IPv4
  frame[14] = 0x45;
  put(16, big_endian(28 + datagram.size()));
  frame[23] = 17;  // UDP
  put(26, from.address);
  put(34, from.port);
  put(38, big_endian(8 + datagram.size()));
  if (!datagram.empty())
    std::memcpy(frame.data() + udp_payload_at, datagram.data(), datagram.size());
  return frame;
}

inline std::vector<std::uint8_t> frame_of(const Place& from, const cohom_header& header,
                                          std::span<const std::uint64_t> words) {
  std::vector<std::uint8_t> datagram(sizeof header + words.size_bytes());
  std::memcpy(datagram.data(), &header, sizeof header);
  if (!words.empty())
    std::memcpy(datagram.data() + sizeof header, words.data(), words.size_bytes());
  return frame_of(from, datagram);
}

/// What a frame holds, as far as it goes.
struct Frame {
  Frame(const void* bytes, std::size_t size) {
    const auto* const start = static_cast<const std::uint8_t*>(bytes);
    if (size < udp_payload_at + sizeof header) return;
    const auto place_at = [start](std::size_t address, std::size_t port) {
      Place place;
      std::memcpy(&place.address, start + address, sizeof place.address);
      std::memcpy(&place.port, start + port, sizeof place.port);
      return place;
    };
    source = place_at(26, 34);
    target = place_at(30, 36);
    std::memcpy(&header, start + udp_payload_at, sizeof header);
    const std::size_t udp_bytes = std::size_t{start[38]} << 8 | start[39];
    if (udp_bytes < 8 + sizeof header || udp_bytes - 8 > size - udp_payload_at) return;
    words.resize((udp_bytes - 8 - sizeof header) / 8);
    if (!words.empty())
      std::memcpy(words.data(), start + udp_payload_at + sizeof header, 8 * words.size());
  }

  Place source, target;
  cohom_header header{};
  std::vector<std::uint64_t> words;
};

}  // namespace cohom::test
