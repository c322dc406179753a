#include "offload/daemon_plane.hpp"

#include "kernels/ebpf/check.h"
#include "offload/daemon_group.hpp"
#include "offload/verdict_names.hpp"

#include <cohom/merge.hpp>

#include <poll.h>

#include <array>
#include <atomic>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::offload {

namespace {

constexpr int looks_a_lock = 32;
/// Looks without news until the thread sleeps: a fraction of a millisecond, in which others may run.
constexpr int idle_looks = 20;
constexpr int most_sleep_milliseconds = 500;  ///< UCX wants to find out who has died

class DaemonPlane final : public DataPlane, private ucx::MessageReceiver {
 public:
  explicit DaemonPlane(const DaemonSetup& setup)
      : setup_(setup),
        worker_({.transports = setup.transports, .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP}),
        address_(ucx::to_hex(worker_.address())),
        groups_(setup.groups) {
    receive_messages(worker_, *this);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~DaemonPlane() override {
    thread_.request_stop();
    worker_.signal();
    thread_.join();
  }
  DaemonPlane(const DaemonPlane&) = delete;
  DaemonPlane& operator=(const DaemonPlane&) = delete;

  [[nodiscard]] std::string_view kind() const override { return "daemon"; }
  [[nodiscard]] std::uint32_t merges() const override {
    return 1u << int(MergeKind::add) | 1u << int(MergeKind::bit_or) | 1u << int(MergeKind::max) |
           1u << int(MergeKind::add_float);
  }
  [[nodiscard]] bool takes_narrow() const override { return true; }
  [[nodiscard]] bool takes_messages() const override { return true; }
  [[nodiscard]] std::uint32_t slots() const override { return setup_.slots; }
  [[nodiscard]] std::uint32_t free_slots() const override {
    const auto guard = lock();
    return slots_left();
  }
  [[nodiscard]] std::uint32_t most_payload_bytes() const override { return setup_.payload_bytes; }
  [[nodiscard]] std::string data_address() const override { return address_; }

  std::optional<std::uint32_t> open(const GroupPlan& plan) override;
  bool meet_parent(std::uint32_t number) override {
    const auto guard = lock();
    return groups_[number]->meet_parent();
  }
  void start(std::uint32_t number) override {
    const auto guard = lock();
    groups_[number]->start();
  }
  void close(std::uint32_t number) override {
    const auto guard = lock();
    // While it goes, messages for it may come: they find no group.
    const auto gone = std::exchange(groups_[number], nullptr);
  }
  [[nodiscard]] GroupCounters counters(std::uint32_t number) const override {
    const auto guard = lock();
    return groups_[number]->counters();
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> packets() const override;

 private:
  /// The control channel's thread does not wait for a thread that always has something to do.
  [[nodiscard]] std::unique_lock<std::mutex> lock() const {
    ++waiting_;
    std::unique_lock guard(mutex_);
    --waiting_;
    return guard;
  }
  [[nodiscard]] std::uint32_t slots_left() const;
  void run(const std::stop_token& stop);
  bool look();
  void sleep();
  void take(const ucx::MessageHeader& header, std::span<const std::byte> data) noexcept override {
    ++counts_[static_cast<std::size_t>(judge(header, nullptr, data))];
  }
  void take_narrow(const ucx::MessageHeader& header, const Widening& widening,
                   std::span<const std::byte> data) noexcept override {
    ++counts_[static_cast<std::size_t>(judge(header, &widening, data))];
  }
  void take_garbage() noexcept override { ++counts_[cohom_drop_malformed]; }
  cohom_verdict judge(const ucx::MessageHeader& header, const Widening* widening,
                      std::span<const std::byte> data);

  DaemonSetup setup_;
  mutable std::mutex mutex_;
  mutable std::atomic<int> waiting_ = 0;
  ucx::Worker worker_;
  std::string address_;
  std::vector<std::unique_ptr<DaemonGroup>> groups_;  ///< by number; null: free
  std::vector<std::uint32_t> greetings_;              ///< groups to which somebody said hello
  std::array<std::uint64_t, cohom_verdicts> counts_{};
  std::jthread thread_;
};

std::uint32_t DaemonPlane::slots_left() const {
  std::uint32_t taken = 0;
  for (const auto& group : groups_)
    if (group) taken += group->plan().slots;
  return setup_.slots - taken;
}

std::optional<std::uint32_t> DaemonPlane::open(const GroupPlan& plan) {
  const auto guard = lock();
  if (plan.slots == 0 || plan.slots > slots_left()) return std::nullopt;
  for (std::uint32_t number = 0; number < groups_.size(); ++number) {
    if (groups_[number]) continue;
    groups_[number] = std::make_unique<DaemonGroup>(worker_, plan, number);
    return number;
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, std::uint64_t>> DaemonPlane::packets() const {
  const auto guard = lock();
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (std::uint32_t verdict = 0; verdict < cohom_verdicts; ++verdict)
    all.emplace_back(name_of(static_cast<cohom_verdict>(verdict)), counts_[verdict]);
  return all;
}

void DaemonPlane::run(const std::stop_token& stop) {
  for (int idle = 0; !stop.stop_requested();) {
    while (waiting_ != 0) std::this_thread::yield();
    if (look())
      idle = 0;
    else if (++idle < idle_looks)
      std::this_thread::yield();
    else
      sleep();
  }
}

/// Whether anything came or left.
bool DaemonPlane::look() {
  const std::lock_guard guard(mutex_);
  bool moved = false;
  for (int i = 0; i < looks_a_lock && worker_.progress(); ++i) moved = true;
  for (const std::uint32_t number : std::exchange(greetings_, {}))
    if (groups_[number]) groups_[number]->greet();
  return moved;
}

void DaemonPlane::sleep() {
  {
    const std::lock_guard guard(mutex_);
    if (!worker_.may_sleep()) return;
  }
  pollfd waiting{worker_.descriptor(), POLLIN, 0};
  ::poll(&waiting, 1, most_sleep_milliseconds);
}

/// In the order in which the packets of the kernel's program are looked at.
cohom_verdict DaemonPlane::judge(const ucx::MessageHeader& header, const Widening* widening,
                                 std::span<const std::byte> data) {
  const cohom_header& packet = header.packet;
  if (const int verdict = cohom_check_form(&packet); verdict != cohom_fine)
    return static_cast<cohom_verdict>(verdict);
  if (packet.group >= groups_.size() || !groups_[packet.group]) return cohom_drop_group;
  DaemonGroup& group = *groups_[packet.group];
  if (packet.job != group.plan().job) return cohom_drop_group;
  if (packet.epoch != group.plan().epoch) return cohom_drop_epoch;
  const cohom_verdict verdict =
      widening != nullptr ? group.take_narrow(header, *widening, data) : group.take(header, data);
  if (verdict == cohom_greeted) greetings_.push_back(packet.group);
  return verdict;
}

}  // namespace

std::unique_ptr<DataPlane> make_daemon_plane(const DaemonSetup& setup) {
  return std::make_unique<DaemonPlane>(setup);
}

}  // namespace cohom::offload
