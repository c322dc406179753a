#include "host_plane.hpp"

#include "aggregation/net/endpoint.hpp"
#include "aggregation/protocol/verdict_names.hpp"
#include "aggregation/server/group_table.hpp"
#include "switch_frames.hpp"
#include "switch_program.h"
#include "testing/packet_faults.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace cohom::test {

namespace {

using namespace offload;

struct FreeProgram {
  void operator()(cohom_switch_program* program) const { cohom_switch_free(program); }
};

class HostPlane final : public DataPlane {
 public:
  explicit HostPlane(const HostPlaneSetup& setup)
      : program_(cohom_switch_make(setup.groups, setup.slots)),
        table_({cohom_switch_groups(program_.get()), setup.groups}, setup.slots),
        merges_(setup.merges),
        faults_({.lose = setup.lose_sums}),
        broken_(setup.broken),
        no_memory_(setup.no_memory),
        served_(setup.served),
        parents_(setup.groups),
        socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int buffer = 4 << 20;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    socklen_t size = sizeof address;
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw_system_error("the host plane's socket");
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  [[nodiscard]] std::string_view kind() const override { return "ebpf"; }
  [[nodiscard]] std::uint32_t merges() const override { return merges_; }
  [[nodiscard]] bool takes_narrow() const override { return false; }
  [[nodiscard]] std::uint32_t slots() const override { return table_.slots(); }
  [[nodiscard]] std::uint32_t free_slots() const override {
    const std::lock_guard lock(mutex_);
    return table_.free_slots();
  }
  [[nodiscard]] std::uint32_t max_payload_bytes() const override { return 8 * cohom_max_words; }
  [[nodiscard]] bool takes_messages() const override { return false; }
  [[nodiscard]] std::string data_address() const override { return Endpoint{"", port_}.text(); }

  std::optional<std::uint32_t> add_group(const GroupPlan& plan) override {
    const std::lock_guard lock(mutex_);
    sockaddr_in parent{};
    if (plan.parent) parent = resolve_data_address(plan.parent->data_address, plan.parent->control);
    const auto number = table_.add_group(plan, parent);
    if (number && plan.parent) parents_[*number] = parent;
    return number;
  }
  bool meet_parent(std::uint32_t number) override {
    const std::lock_guard lock(mutex_);
    if (table_.parent_known(number)) return true;
    const cohom_header hello = table_.hello_to_parent(number);
    const sockaddr_in& parent = parents_[number];
    ::sendto(socket_.get(), &hello, sizeof hello, 0, reinterpret_cast<const sockaddr*>(&parent),
             sizeof parent);
    return false;
  }
  [[nodiscard]] std::uint64_t met(std::uint32_t number) const override {
    if (no_memory_ != nullptr && *no_memory_) throw std::bad_alloc();
    const std::lock_guard lock(mutex_);
    return table_.met(number);
  }
  void start(std::uint32_t number) override {
    const std::lock_guard lock(mutex_);
    table_.start(number);
  }
  void close(std::uint32_t number) override {
    const std::lock_guard lock(mutex_);
    table_.close(number);
  }
  [[nodiscard]] std::map<std::uint32_t, std::string> failures() override {
    if (served_) served_();
    return {};
  }
  [[nodiscard]] int failures_descriptor() const override {
    if (broken_ != nullptr && *broken_) throw std::bad_alloc();
    return -1;
  }
  [[nodiscard]] GroupCounters counters(std::uint32_t number) const override {
    const std::lock_guard lock(mutex_);
    return table_.counters(number);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> packets() const override {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, std::uint64_t>> all;
    for (std::uint32_t v = 0; v < cohom_verdicts; ++v)
      all.emplace_back(name_of(static_cast<cohom_verdict>(v)),
                       cohom_switch_counters(program_.get())[v]);
    return all;
  }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waiting{socket_.get(), POLLIN, 0};
      ::poll(&waiting, 1, 20);
      while (waiting.revents != 0) {
        sockaddr_in from{};
        socklen_t size = sizeof from;
        const ssize_t bytes = ::recvfrom(socket_.get(), datagram_.data(), datagram_.size(),
                                         MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &size);
        if (bytes < 0) break;
        const std::lock_guard lock(mutex_);
        take(from, static_cast<std::size_t>(bytes));
      }
    }
  }

  void take(const sockaddr_in& from, std::size_t bytes) {
    const auto frame =
        frame_of({from.sin_addr.s_addr, from.sin_port}, std::span(datagram_).first(bytes));
    cohom_switch_run(
        program_.get(), frame.data(), static_cast<std::uint32_t>(frame.size()), 0,
        [](void* self, const void* leaving, std::uint32_t size, std::uint32_t) {
          static_cast<HostPlane*>(self)->send(leaving, size);
        },
        this);
  }

  void send(const void* leaving, std::uint32_t size) {
    const Frame frame(leaving, size);
    if (frame.header.kind == cohom_sum && faults_.order(1).empty()) return;
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = frame.target.address;
    to.sin_port = frame.target.port;
    ::sendto(socket_.get(), static_cast<const std::uint8_t*>(leaving) + udp_payload_at,
             sizeof frame.header + 8 * frame.words.size(), 0,
             reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }

  std::unique_ptr<cohom_switch_program, FreeProgram> program_;
  GroupTable table_;
  std::uint32_t merges_;
  PacketFaults faults_;
  const std::atomic<bool>*const broken_, *const no_memory_;
  std::function<void()> served_;
  std::vector<sockaddr_in> parents_;  ///< by number
  FileDescriptor socket_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::array<std::uint8_t, sizeof(cohom_header) + 8 * (cohom_max_words + 1)> datagram_{};
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<DataPlane> make_host_plane(const HostPlaneSetup& setup) {
  return std::make_unique<HostPlane>(setup);
}

}  // namespace cohom::test
