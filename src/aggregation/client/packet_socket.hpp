#pragma once
// PacketSocket: a worker's packets to and from its aggregator, many a system call.

#include "aggregation/client/control_client.hpp"
#include "aggregation/protocol/packet.h"
#include "base/file_descriptor.hpp"

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cohom::offload {

/// Bytes of words that packets to this address can carry without being cut, at most cohom's 8 KiB.
/// @throws Error(transport) when there is no route there.
std::size_t payload_bytes_of_path(const sockaddr_in& address);

struct OutgoingPacket {
  cohom_header header;
  const std::uint64_t* words = nullptr;
};

class PacketSocket {
 public:
  /// @throws Error(transport)
  PacketSocket(const sockaddr_in& address, const ClientOptions& options);

  [[nodiscard]] int descriptor() const { return socket_.get(); }

  /// Sends until the system's queue is full; how many packets are on their way.
  /// @throws Error(transport) for a packet that the path does not carry.
  std::size_t send(std::span<const OutgoingPacket> packets);
  void send_now(const cohom_header& packet);

  struct Arrived {
    cohom_header header;
    std::span<const std::uint64_t> words;
  };
  /// What has arrived, at most batch packets, of which those that are no packets at all are left
  /// out. Valid until the next call.
  std::span<const Arrived> receive();
  /// Whether the answer to this hello is among what has arrived.
  bool has_answer(const cohom_header& hello);

  static constexpr std::size_t batch = 32;

 private:
  struct Buffer {
    cohom_header header;
    std::array<std::uint64_t, cohom_max_words> words;
  };

  FileDescriptor socket_;
  std::unique_ptr<std::array<Buffer, batch>> buffers_;
  std::array<Arrived, batch> arrived_;
  ClientOptions::PacketOrder order_;  ///< empty: packets leave as they come
};

}  // namespace cohom::offload
