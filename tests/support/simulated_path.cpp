#include "simulated_path.hpp"

#include "aggregation/net/endpoint.hpp"
#include "offload_switch.hpp"
#if COHOM_HAVE_UCX
#include "ucx_transport/library_version.hpp"
#include "ucx_transport/message_link.hpp"
#endif

#include <cohom/error.hpp>

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace cohom::test {

namespace {

using namespace offload;

constexpr std::size_t max_payload_bytes = 8 * cohom_max_words;

class PacketPath final : public SimulatedPath {
 public:
  explicit PacketPath(const Admitted& admitted)
      : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    const sockaddr_in to = resolve_data_address(admitted.data_address, local(0));
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      throw_system_error("the socket of simulated workers");
  }

  void send(const cohom_header& header, const std::vector<std::uint64_t>& words) override {
    std::vector<std::byte> bytes(sizeof header + 8 * words.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!words.empty()) std::memcpy(bytes.data() + sizeof header, words.data(), 8 * words.size());
    ::send(socket_.get(), bytes.data(), bytes.size(), 0);  // what is lost is sent again
  }
  std::vector<Arrived> take() override {
    std::vector<Arrived> all;
    std::array<std::byte, sizeof(cohom_header) + max_payload_bytes> bytes{};
    while (true) {
      const ssize_t size = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (size < ssize_t(sizeof(cohom_header))) return all;
      Arrived& one = all.emplace_back();
      std::memcpy(&one.header, bytes.data(), sizeof one.header);
      one.words.resize((static_cast<std::size_t>(size) - sizeof one.header) / 8);
      if (!one.words.empty())
        std::memcpy(one.words.data(), bytes.data() + sizeof one.header, 8 * one.words.size());
    }
  }

 private:
  FileDescriptor socket_;
};

#if COHOM_HAVE_UCX
class MessagePath final : public SimulatedPath, private ucx::MessageReceiver {
 public:
  explicit MessagePath(const Admitted& admitted)
      : worker_({.transports = "posix,tcp,self", .features = UCP_FEATURE_AM}) {
    receive_messages(worker_, *this);
    link_ = std::make_unique<ucx::MessageLink>(
        worker_, checked_bytes(admitted.ucx_address, ucx::library_version(), "the aggregator"));
  }
  ~MessagePath() override { link_.reset(); }
  MessagePath(const MessagePath&) = delete;
  MessagePath& operator=(const MessagePath&) = delete;

  void send(const cohom_header& header, const std::vector<std::uint64_t>& words) override {
    const auto copy = std::make_shared<const std::vector<std::uint64_t>>(words);
    link_->send(header, std::as_bytes(std::span(*copy)), copy);
  }
  std::vector<Arrived> take() override {
    while (worker_.progress()) {
    }
    return std::exchange(arrived_, {});
  }
  [[nodiscard]] UcxAddress address() const override { return worker_.sealed_address(); }

 private:
  void take(const cohom_header& header, std::span<const std::byte> data) noexcept override {
    Arrived& one = arrived_.emplace_back();
    one.header = header;
    one.words.resize(data.size() / 8);
    if (!data.empty()) std::memcpy(one.words.data(), data.data(), data.size());
  }

  ucx::Worker worker_;
  std::unique_ptr<ucx::MessageLink> link_;
  std::vector<Arrived> arrived_;
};
#endif

}  // namespace

std::unique_ptr<SimulatedPath> make_simulated_path(const Admitted& admitted) {
#if COHOM_HAVE_UCX
  if (admitted.kind == "daemon") return std::make_unique<MessagePath>(admitted);
#endif
  return std::make_unique<PacketPath>(admitted);
}

}  // namespace cohom::test
