#include "host_plane.hpp"

#include "kernels/ebpf/check.h"
#include "kernels/ebpf/pool.h"
#include "offload/endpoint.hpp"
#include "offload/group_table.hpp"
#include "offload/hello.hpp"
#include "offload/packet_faults.hpp"
#include "offload/verdict_names.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace cohom::test {

namespace {

using namespace offload;

struct Packet {
  cohom_header header;
  std::array<std::uint64_t, cohom_most_words + 1> words;  // one more, to see what is too long
};

class HostPlane final : public DataPlane {
 public:
  explicit HostPlane(const HostPlaneSetup& setup)
      : groups_(setup.groups),
        slots_(setup.slots),
        table_(groups_, setup.slots),
        faults_(setup.lose_sums, 0, 0, 1),
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
  [[nodiscard]] std::uint32_t merges() const override { return 7; }
  [[nodiscard]] bool takes_narrow() const override { return false; }
  [[nodiscard]] std::uint32_t slots() const override { return table_.slots(); }
  [[nodiscard]] std::uint32_t free_slots() const override {
    const std::lock_guard lock(mutex_);
    return table_.free_slots();
  }
  [[nodiscard]] std::uint32_t most_payload_bytes() const override { return 8 * cohom_most_words; }
  [[nodiscard]] bool takes_messages() const override { return false; }
  [[nodiscard]] std::string data_address() const override { return Endpoint{"", port_}.text(); }

  std::optional<std::uint32_t> open(const GroupPlan& plan) override {
    const std::lock_guard lock(mutex_);
    const auto number = table_.open(plan);
    if (number && plan.parent) parents_[*number] = plan;
    return number;
  }
  bool meet_parent(std::uint32_t number) override {
    const std::lock_guard lock(mutex_);
    if (table_.parent_known(number)) return true;
    const GroupPlan& plan = parents_.at(number);
    const cohom_header hello =
        make_hello(plan.job, plan.parent->number, plan.epoch, plan.parent->worker, number);
    const sockaddr_in parent =
        resolve_data_address(plan.parent->data_address, plan.parent->control);
    ::sendto(socket_.get(), &hello, sizeof hello, 0, reinterpret_cast<const sockaddr*>(&parent),
             sizeof parent);
    return false;
  }
  void start(std::uint32_t number) override {
    const std::lock_guard lock(mutex_);
    table_.start(number);
  }
  void close(std::uint32_t number) override {
    const std::lock_guard lock(mutex_);
    table_.close(number);
  }
  [[nodiscard]] GroupCounters counters(std::uint32_t number) const override {
    const std::lock_guard lock(mutex_);
    return table_.counters(number);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> packets() const override {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, std::uint64_t>> all;
    for (std::uint32_t v = 0; v < cohom_verdicts; ++v)
      all.emplace_back(name_of(static_cast<cohom_verdict>(v)), counts_[v]);
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
        const ssize_t bytes = ::recvfrom(socket_.get(), &packet_, sizeof packet_, MSG_DONTWAIT,
                                         reinterpret_cast<sockaddr*>(&from), &size);
        if (bytes < 0) break;
        const std::lock_guard lock(mutex_);
        ++counts_[static_cast<std::size_t>(handle(from, static_cast<std::uint32_t>(bytes)))];
      }
    }
  }

  int handle(const sockaddr_in& from, std::uint32_t bytes) {
    const cohom_header& header = packet_.header;
    if (bytes < sizeof header) return cohom_drop_malformed;
    if (const int verdict = cohom_check_form(&header); verdict != cohom_fine) return verdict;
    if (header.group >= groups_.size()) return cohom_drop_group;
    cohom_group& group = groups_[header.group];
    if (const int verdict = cohom_check_group(&header, &group); verdict != cohom_fine)
      return verdict;
    const cohom_source source{from.sin_addr.s_addr, from.sin_port, 0, 0};
    if (header.kind == cohom_hello) return greet(group, source);
    if (header.kind == cohom_hello_answer) {
      group.parent = place_of(source);
      group.parent_known = 1;
      return cohom_parent_learnt;
    }
    const int verdict = cohom_check_packet(&header, &group, &source, bytes);
    return verdict == cohom_fine ? take(group) : verdict;
  }

  [[nodiscard]] cohom_place place_of(const cohom_source& source) const {
    cohom_place place{};
    place.address = source.address;
    place.port = source.port;
    place.group = static_cast<std::uint32_t>(packet_.header.call);
    return place;
  }

  int greet(cohom_group& group, const cohom_source& source) {
    const std::uint32_t worker = packet_.header.worker;
    if (!cohom_is_member(&packet_.header, &group)) return cohom_drop_worker;
    if (!(group.known >> worker & 1)) group.workers[worker] = place_of(source);
    group.known |= std::uint64_t{1} << worker;
    if (!cohom_is_from(&group.workers[worker], &source)) return cohom_drop_source;
    send(group.workers[worker], cohom_hello_answer, worker, 0);
    return cohom_greeted;
  }

  int take(cohom_group& group) {
    const cohom_header header = packet_.header;
    payload_.blocks = (header.words + cohom_block_words - 1) / cohom_block_words;
    std::copy_n(packet_.words.begin(), header.words, payload_.words);
    cohom_slot& slot = slots_[group.first_slot + header.slot];
    cohom_pool* const pool = &slot.pools[header.use & 1];
    const int verdict = header.kind == cohom_sum
                            ? cohom_receive_sum(pool, &header, &payload_)
                            : cohom_contribute(pool, &slot.pools[~header.use & 1], &header,
                                               group.members, group.has_parent != 0, &payload_);
    group.contributions += header.kind == cohom_contribution && verdict <= cohom_pass_up;
    group.sums += verdict == cohom_spread;
    if (verdict == cohom_spread)
      for (std::uint32_t w = 0; w < cohom_most_workers; ++w)
        if (group.members >> w & 1) send(group.workers[w], cohom_sum, w, header.words);
    if (verdict == cohom_answered)
      send(group.workers[header.worker], cohom_sum, header.worker, header.words);
    if (verdict == cohom_told_waiting || verdict == cohom_pass_up_again)
      send(group.workers[header.worker], cohom_waiting, header.worker, 0);
    if (verdict == cohom_pass_up || verdict == cohom_pass_up_again) {
      cohom_place parent = group.parent;
      parent.group = group.parent_group;
      send(parent, cohom_contribution, group.parent_worker, header.words);
    }
    return verdict;
  }

  void send(const cohom_place& place, std::uint8_t kind, std::uint32_t worker,
            std::uint32_t words) {
    if (kind == cohom_sum && faults_.order(1).empty()) return;
    Packet out;
    out.header = packet_.header;
    out.header.kind = kind;
    out.header.worker = static_cast<__u16>(worker);
    out.header.group = place.group;
    std::copy_n(payload_.words, words, out.words.begin());
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = place.address;
    to.sin_port = place.port;
    ::sendto(socket_.get(), &out, sizeof out.header + 8u * words, 0,
             reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }

  std::vector<cohom_group> groups_;
  std::vector<cohom_slot> slots_;
  GroupTable table_;
  PacketFaults faults_;
  FileDescriptor socket_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, GroupPlan> parents_;
  std::array<std::uint64_t, cohom_verdicts> counts_{};
  Packet packet_;
  cohom_payload payload_{};
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<DataPlane> make_host_plane(const HostPlaneSetup& setup) {
  return std::make_unique<HostPlane>(setup);
}

}  // namespace cohom::test
