#include "aggregation/client/packet_socket.hpp"

#include "aggregation/net/endpoint.hpp"

#include <cohom/error.hpp>

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cohom::offload {

namespace {

constexpr int buffer_bytes = 8 << 20;
constexpr std::size_t ip_and_udp_bytes = 28;

FileDescriptor connected_socket(const sockaddr_in& address) {
  FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int whole = IP_PMTUDISC_DO;
  if (!socket.is_open() ||
      ::setsockopt(socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole) != 0 ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw_system_error("no route for packets to " + text_of(address));
  return socket;
}

/// More than the system's limit where this process may.
void enlarge_buffer(const FileDescriptor& socket, int force, int polite) {
  if (::setsockopt(socket.get(), SOL_SOCKET, force, &buffer_bytes, sizeof buffer_bytes) != 0)
    ::setsockopt(socket.get(), SOL_SOCKET, polite, &buffer_bytes, sizeof buffer_bytes);
}

}  // namespace

std::size_t payload_bytes_of_path(const sockaddr_in& address) {
  const FileDescriptor socket = connected_socket(address);
  int mtu = 0;
  socklen_t size = sizeof mtu;
  if (::getsockopt(socket.get(), IPPROTO_IP, IP_MTU, &mtu, &size) != 0)
    throw_system_error("the path's MTU");
  const std::size_t frame = static_cast<std::size_t>(mtu);
  const std::size_t headers = ip_and_udp_bytes + sizeof(cohom_header);
  const std::size_t payload = frame > headers ? frame - headers : 0;
  return std::min<std::size_t>(payload - payload % 8, 8 * cohom_max_words);
}

PacketSocket::PacketSocket(const sockaddr_in& address, const ClientOptions& options)
    : socket_(connected_socket(address)),
      buffers_(std::make_unique<std::array<Buffer, batch>>()),
      order_(options.packet_order) {
  // Switches change the words, and links check themselves.
  const int one = 1;
  if (::setsockopt(socket_.get(), SOL_SOCKET, SO_NO_CHECK, &one, sizeof one) != 0)
    throw_system_error("setsockopt");
  enlarge_buffer(socket_, SO_RCVBUFFORCE, SO_RCVBUF);
  enlarge_buffer(socket_, SO_SNDBUFFORCE, SO_SNDBUF);
}

std::size_t PacketSocket::send(std::span<const OutgoingPacket> packets) {
  const std::size_t count = std::min(packets.size(), batch);
  std::array<mmsghdr, 2 * batch> messages{};
  std::array<std::array<iovec, 2>, 2 * batch> parts;
  std::size_t used = 0;
  const auto add = [&](const OutgoingPacket& packet) {
    parts[used] = {iovec{const_cast<cohom_header*>(&packet.header), sizeof packet.header},
                   iovec{const_cast<std::uint64_t*>(packet.words), 8u * packet.header.words}};
    messages[used].msg_hdr.msg_iov = parts[used].data();
    messages[used].msg_hdr.msg_iovlen = 2;
    ++used;
  };
  if (order_)
    for (const std::size_t i : order_(count)) add(packets[i]);
  else
    for (const OutgoingPacket& packet : packets.first(count)) add(packet);

  std::size_t sent = 0;
  while (sent < used) {
    const int now = ::sendmmsg(socket_.get(), messages.data() + sent,
                               static_cast<unsigned>(used - sent), MSG_DONTWAIT);
    if (now > 0) {
      sent += static_cast<std::size_t>(now);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EMSGSIZE) throw_system_error("the path to the aggregator has become narrower");
    if (errno != EAGAIN && errno != ENOBUFS) ++sent;  // lost, as in any network
    // In an order of their own, what did not fit is lost.
    else
      return order_ ? count : sent;
  }
  return count;
}

void PacketSocket::send_now(const cohom_header& packet) {
  // What is lost is sent again.
  ::send(socket_.get(), &packet, sizeof packet, MSG_DONTWAIT);
}

std::span<const PacketSocket::Arrived> PacketSocket::receive() {
  std::array<mmsghdr, batch> messages{};
  std::array<iovec, batch> parts;
  for (std::size_t i = 0; i < batch; ++i) {
    parts[i] = {&(*buffers_)[i], sizeof(Buffer)};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  const int count = ::recvmmsg(socket_.get(), messages.data(), batch, MSG_DONTWAIT, nullptr);
  std::size_t right = 0;
  for (int i = 0; i < count; ++i) {
    const Buffer& buffer = (*buffers_)[static_cast<std::size_t>(i)];
    const std::size_t bytes = messages[static_cast<std::size_t>(i)].msg_len;
    if (bytes < sizeof(cohom_header)) continue;
    const std::size_t words = (bytes - sizeof(cohom_header)) / 8;
    arrived_[right++] = {buffer.header, std::span(buffer.words).first(words)};
  }
  return std::span(arrived_).first(right);
}

bool PacketSocket::has_answer(const cohom_header& hello) {
  return std::ranges::any_of(receive(), [&](const Arrived& packet) {
    const cohom_header& answer = packet.header;
    return answer.magic == cohom_magic && answer.version == cohom_packet_version &&
           answer.kind == cohom_hello_answer && answer.job == hello.job &&
           answer.epoch == hello.epoch && answer.key == hello.key &&
           answer.worker == hello.worker && answer.sequence == hello.sequence &&
           answer.offset == hello.offset;
  });
}

}  // namespace cohom::offload
