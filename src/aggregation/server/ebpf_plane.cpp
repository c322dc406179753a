#include "aggregation/server/ebpf_plane.hpp"

#include "aggregate.skel.h"
#include "aggregation/protocol/verdict_names.hpp"
#include "aggregation/server/tc_ports.hpp"
#include "base/log.hpp"

#include <cohom/error.hpp>
#include <cohom/merge.hpp>

#include <spdlog/spdlog.h>

#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

namespace cohom::offload {

namespace {

constexpr std::chrono::milliseconds between_hellos{20};

int log_of_libbpf(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  std::array<char, 2048> text{};
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  std::string line(text.data());
  while (!line.empty() && line.back() == '\n') line.pop_back();
  // Of a qdisc that is there already it warns, though that is fine.
  if (line.find("Exclusivity flag") == std::string::npos) log().info("libbpf: {}", line);
  return length;
}

struct CloseSkeleton {
  void operator()(aggregate* skeleton) const { aggregate__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<aggregate, CloseSkeleton>;

Skeleton load(const EbpfSetup& setup) {
  libbpf_set_print(log_of_libbpf);
  Skeleton skeleton(aggregate__open());
  if (!skeleton) throw_system_error("the eBPF program cannot be opened");
  skeleton->rodata->own_address = setup.address.sin_addr.s_addr;
  skeleton->rodata->own_port = setup.address.sin_port;
  bpf_map__set_max_entries(skeleton->maps.slots, setup.slots);
  bpf_map__set_max_entries(skeleton->maps.groups, setup.groups);
  if (aggregate__load(skeleton.get()) != 0)
    throw_system_error("the kernel does not take the eBPF program (root, kernel 5.15 or later)");
  return skeleton;
}

/// The program's groups, in this process's memory.
class GroupMemory {
 public:
  GroupMemory(int map, std::uint32_t groups) : groups_(groups) {
    void* const memory = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    if (memory == MAP_FAILED) throw_system_error("mmap of the groups");
    memory_ = static_cast<cohom_group*>(memory);
  }
  ~GroupMemory() { ::munmap(memory_, bytes()); }
  GroupMemory(const GroupMemory&) = delete;
  GroupMemory& operator=(const GroupMemory&) = delete;
  [[nodiscard]] std::span<cohom_group> groups() const { return {memory_, groups_}; }

 private:
  [[nodiscard]] std::size_t bytes() const { return sizeof(cohom_group) * groups_; }
  cohom_group* memory_ = nullptr;
  std::uint32_t groups_;
};

/// Says hello to parents. It has the port of the data path, so that answers come to the program.
/// What gets past the program ends here unread.
FileDescriptor data_socket(const sockaddr_in& address) {
  FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int one = 1, little = 1;
  if (!socket.is_open() ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_NO_CHECK, &one, sizeof one) != 0 ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw_system_error("the data path's port " + text_of(address));
  return socket;
}

class EbpfPlane final : public DataPlane {
 public:
  explicit EbpfPlane(const EbpfSetup& setup)
      : setup_(setup),
        socket_(data_socket(setup.address)),
        skeleton_(load(setup)),
        memory_(bpf_map__fd(skeleton_->maps.groups), setup.groups),
        table_(memory_.groups(), setup.slots),
        parents_(setup.groups),
        ports_(setup.ports, bpf_program__fd(skeleton_->progs.cohom_aggregate)) {}

  [[nodiscard]] std::string_view kind() const override { return "ebpf"; }
  [[nodiscard]] std::uint32_t merges() const override {
    return 1u << int(MergeKind::add) | 1u << int(MergeKind::bit_or) | 1u << int(MergeKind::max) |
           1u << int(MergeKind::max8) | 1u << int(MergeKind::max16);
  }
  [[nodiscard]] bool takes_narrow() const override { return false; }
  [[nodiscard]] std::uint32_t slots() const override { return table_.slots(); }
  [[nodiscard]] std::uint32_t free_slots() const override { return table_.free_slots(); }
  [[nodiscard]] std::uint32_t max_payload_bytes() const override { return 8 * cohom_max_words; }
  [[nodiscard]] bool takes_messages() const override { return false; }
  [[nodiscard]] std::string data_address() const override {
    return Endpoint{"", ntohs(setup_.address.sin_port)}.text();
  }

  std::optional<std::uint32_t> add_group(const GroupPlan& plan) override {
    sockaddr_in parent{};
    if (plan.parent) parent = resolve_data_address(plan.parent->data_address, plan.parent->control);
    const auto number = table_.add_group(plan, parent);
    if (number && plan.parent) parents_[*number] = {parent, {}};
    return number;
  }
  bool meet_parent(std::uint32_t number) override;
  [[nodiscard]] std::uint64_t met(std::uint32_t number) const override {
    return table_.met(number);
  }
  void start(std::uint32_t number) override { table_.start(number); }
  void close(std::uint32_t number) override { table_.close(number); }
  [[nodiscard]] GroupCounters counters(std::uint32_t number) const override {
    return table_.counters(number);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> packets() const override;

 private:
  struct Meeting {
    sockaddr_in address{};
    std::chrono::steady_clock::time_point last_hello;
  };

  EbpfSetup setup_;
  FileDescriptor socket_;
  Skeleton skeleton_;
  GroupMemory memory_;
  GroupTable table_;
  std::vector<Meeting> parents_;  ///< by number: where groups of a leaf say hello
  TcPorts ports_;
};

bool EbpfPlane::meet_parent(std::uint32_t number) {
  if (table_.parent_known(number)) return true;
  Meeting& meeting = parents_[number];
  const auto now = std::chrono::steady_clock::now();
  if (now - meeting.last_hello < between_hellos) return false;
  meeting.last_hello = now;
  const cohom_header hello = table_.hello_to_parent(number);
  // What is lost is sent again.
  ::sendto(socket_.get(), &hello, sizeof hello, 0,
           reinterpret_cast<const sockaddr*>(&meeting.address), sizeof meeting.address);
  return false;
}

std::vector<std::pair<std::string, std::uint64_t>> EbpfPlane::packets() const {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  std::vector<std::uint64_t> by_processor(static_cast<std::size_t>(libbpf_num_possible_cpus()));
  for (std::uint32_t verdict = 0; verdict < cohom_verdicts; ++verdict) {
    if (bpf_map__lookup_elem(skeleton_->maps.counters, &verdict, sizeof verdict,
                             by_processor.data(), 8 * by_processor.size(), 0) != 0)
      continue;
    all.emplace_back(name_of(static_cast<cohom_verdict>(verdict)),
                     std::accumulate(by_processor.begin(), by_processor.end(), std::uint64_t{0}));
  }
  return all;
}

}  // namespace

bool has_ebpf() { return true; }

std::string why_no_ebpf() { return {}; }

std::unique_ptr<DataPlane> make_ebpf_plane(const EbpfSetup& setup) {
  return std::make_unique<EbpfPlane>(setup);
}

}  // namespace cohom::offload
