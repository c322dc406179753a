#include "aggregation/server/daemon_plane.hpp"

#include "aggregation/net/event.hpp"
#include "aggregation/protocol/check.h"
#include "aggregation/protocol/verdict_names.hpp"
#include "aggregation/server/address_trials.hpp"
#include "aggregation/server/daemon_group.hpp"
#include "base/float_mode.hpp"

#include <cohom/merge.hpp>

#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <exception>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::offload {

namespace {

constexpr int polls_a_lock = 32;
/// Polls without news until the thread sleeps: a fraction of a millisecond, in which others may
/// run.
constexpr int idle_polls = 20;
constexpr int max_sleep_milliseconds = 500;  ///< UCX wants to find out who has died

ucx::ContextSettings settings_of(const DaemonSetup& setup) {
  return {.transports = setup.transports,
          .devices = setup.devices,
          .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
          .addresses_may_be_wrong = true};
}

class DaemonPlane final : public DataPlane, private ucx::MessageReceiver {
 public:
  explicit DaemonPlane(const DaemonSetup& setup)
      : setup_(setup),
        worker_(settings_of(setup)),
        address_(worker_.sealed_address()),
        groups_(setup.groups),
        trials_(settings_of(setup), [this](const AddressTrial& trial, const std::string& why_not) {
          end_trial(trial, why_not);
        }) {
    groups_with_waiting_sums_.reserve(setup.groups);
    hellos_to_answer_.reserve(setup.groups);
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
           1u << int(MergeKind::max8) | 1u << int(MergeKind::max16) |
           1u << int(MergeKind::add_float);
  }
  [[nodiscard]] bool takes_narrow() const override { return true; }
  [[nodiscard]] bool takes_messages() const override { return true; }
  [[nodiscard]] std::uint32_t slots() const override { return setup_.slots; }
  [[nodiscard]] std::uint32_t free_slots() const override {
    const auto guard = lock();
    return slots_left();
  }
  [[nodiscard]] std::uint32_t max_payload_bytes() const override { return setup_.payload_bytes; }
  [[nodiscard]] std::string data_address() const override { return {}; }
  [[nodiscard]] UcxAddress ucx_address() const override { return address_; }

  std::optional<std::uint32_t> add_group(const GroupPlan& plan) override;
  bool take_address(std::uint32_t number, std::uint32_t worker, const UcxAddress& address) override;
  [[nodiscard]] std::map<std::uint32_t, std::string> failures() override;
  [[nodiscard]] int failures_descriptor() const override { return failures_event_.descriptor(); }
  bool meet_parent(std::uint32_t number) override {
    const auto guard = lock();
    return with_memory(*groups_[number], [](DaemonGroup& group) { return group.meet_parent(); });
  }
  [[nodiscard]] std::uint64_t met(std::uint32_t number) const override {
    const auto guard = lock();
    return groups_[number]->met();
  }
  void start(std::uint32_t number) override {
    const auto guard = lock();
    groups_[number]->start();
  }
  void close(std::uint32_t number) override {
    trials_.forget(number);
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
  [[nodiscard]] std::optional<std::uint32_t> free_number(const GroupPlan& plan) const;
  void run(const std::stop_token& stop);
  bool poll();
  template <std::predicate<DaemonGroup&> Action>
  bool with_memory(DaemonGroup& group, const Action& action) noexcept;
  void sleep();
  void take(const cohom_header& header, std::span<const std::byte> data) noexcept override {
    count(header, nullptr, data);
  }
  void take_narrow(const cohom_header& header, const Promotion& promotion,
                   std::span<const std::byte> data) noexcept override {
    count(header, &promotion, data);
  }
  void take_garbage() noexcept override { ++counts_[cohom_drop_malformed]; }
  void count(const cohom_header& header, const Promotion* promotion,
             std::span<const std::byte> data) noexcept;
  void end_trial(const AddressTrial& trial, const std::string& why_not) noexcept;
  void tell_failure() noexcept;
  void queue_hello(std::uint32_t number);
  cohom_verdict judge(const cohom_header& header, const Promotion* promotion,
                      std::span<const std::byte> data);

  DaemonSetup setup_;
  mutable std::mutex mutex_;
  mutable std::atomic<int> waiting_ = 0;
  ucx::Worker worker_;
  UcxAddress address_;
  LogBudget notes_{max_notes, std::chrono::minutes(1)};  ///< of the groups
  std::vector<std::unique_ptr<DaemonGroup>> groups_;     ///< by number; null: free
  // Numbers of groups, each once: what is to be done there when UCX has made progress.
  std::vector<std::uint32_t> hellos_to_answer_, groups_with_waiting_sums_;
  std::array<std::uint64_t, cohom_verdicts> counts_{};
  Event failures_event_;
  std::jthread thread_;
  AddressTrials trials_;  ///< last: its thread uses all of the above
};

std::uint32_t DaemonPlane::slots_left() const {
  std::uint32_t taken = 0;
  for (const auto& group : groups_)
    if (group) taken += group->plan().slots;
  return setup_.slots - taken;
}

std::optional<std::uint32_t> DaemonPlane::add_group(const GroupPlan& plan) {
  AddressTrial of_parent{.epoch = plan.epoch, .job = plan.job, .worker = {}, .address = {}};
  if (plan.parent) {
    const auto bytes = checked_bytes(plan.parent->ucx_address, address_.version, "the parent");
    of_parent.address.assign(bytes.begin(), bytes.end());
  }
  std::optional<std::uint32_t> number;
  {
    const auto guard = lock();
    number = free_number(plan);
    if (!number) return number;
    groups_[*number] = std::make_unique<DaemonGroup>(worker_, plan, *number, notes_);
  }
  if (!plan.parent) return number;
  of_parent.group = *number;
  try {
    trials_.put(std::move(of_parent));
  } catch (const std::exception&) {  // no memory: whoever asked does not learn the number
    close(*number);
    throw;
  }
  return number;
}

std::optional<std::uint32_t> DaemonPlane::free_number(const GroupPlan& plan) const {
  const auto free = std::ranges::find_if(groups_, [](const auto& group) { return !group; });
  if (plan.slots == 0 || plan.slots > slots_left() || free == groups_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(free - groups_.begin());
}

bool DaemonPlane::take_address(std::uint32_t number, std::uint32_t worker,
                               const UcxAddress& address) {
  const auto bytes = checked_bytes(address, address_.version, "worker " + std::to_string(worker));
  if (ucx::is_of_same_worker(bytes, std::as_bytes(std::span(address_.bytes))))
    throw Error(ErrorKind::transport,
                "worker " + std::to_string(worker) + " gave the aggregator's own UCX address");
  const GroupPlan& plan = groups_[number]->plan();  // this thread alone opens and closes groups
  {
    const auto guard = lock();
    if (!groups_[number]->expect_address(worker)) return false;
  }
  trials_.put({number, plan.epoch, plan.job, worker, {bytes.begin(), bytes.end()}});
  return true;
}

/// In the thread of trials.
void DaemonPlane::end_trial(const AddressTrial& trial, const std::string& why_not) noexcept {
  const auto guard = lock();
  DaemonGroup* const group = groups_[trial.group].get();
  if (group == nullptr || group->plan().epoch != trial.epoch) return;
  with_memory(*group, [&](DaemonGroup& here) {
    if (!why_not.empty()) {
      const auto who = trial.worker ? "worker " + std::to_string(*trial.worker) : "the parent";
      here.fail("the UCX address of " + who + " is none: " + why_not);
    } else if (trial.worker) {
      here.take_address(*trial.worker, trial.address);
      queue_hello(trial.group);
      worker_.signal();
    } else {
      here.take_parent_address(trial.address);
    }
    return false;
  });
}

void DaemonPlane::queue_hello(std::uint32_t number) {
  if (std::ranges::find(hellos_to_answer_, number) == hellos_to_answer_.end())
    hellos_to_answer_.push_back(number);
}

/// The control channel's thread ends what has failed.
void DaemonPlane::tell_failure() noexcept { failures_event_.set(); }

std::map<std::uint32_t, std::string> DaemonPlane::failures() {
  std::map<std::uint32_t, std::string> failed;
  if (!failures_event_.take()) return failed;
  const auto guard = lock();
  for (std::uint32_t number = 0; number < groups_.size(); ++number)
    if (groups_[number] && groups_[number]->failed())
      failed.emplace(number, groups_[number]->failure());
  return failed;
}

std::vector<std::pair<std::string, std::uint64_t>> DaemonPlane::packets() const {
  const auto guard = lock();
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (std::uint32_t verdict = 0; verdict < cohom_verdicts; ++verdict)
    all.emplace_back(name_of(static_cast<cohom_verdict>(verdict)), counts_[verdict]);
  return all;
}

void DaemonPlane::run(const std::stop_token& stop) {
  const DefaultFloatMode mode;
  for (int idle = 0; !stop.stop_requested();) {
    while (waiting_ != 0) std::this_thread::yield();
    if (poll())
      idle = 0;
    else if (++idle < idle_polls)
      std::this_thread::yield();
    else
      sleep();
  }
}

/// Whether anything came or left.
bool DaemonPlane::poll() {
  const std::lock_guard guard(mutex_);
  bool moved = false;
  for (int i = 0; i < polls_a_lock && worker_.progress(); ++i) moved = true;
  const auto try_each = [&](std::vector<std::uint32_t>& numbers, auto&& action) {
    // Connecting makes progress, and others come meanwhile.
    for (std::size_t left = numbers.size(); left > 0; --left) {
      const std::uint32_t number = numbers.front();
      numbers.erase(numbers.begin());
      DaemonGroup* const group = groups_[number].get();
      if (group != nullptr && !group->failed() && with_memory(*group, action))
        numbers.push_back(number);
    }
  };
  try_each(hellos_to_answer_, [](DaemonGroup& group) {
    group.answer_hellos();
    return false;
  });
  try_each(groups_with_waiting_sums_,
           [](DaemonGroup& group) { return group.multicast_waiting_sums(); });
  return moved;
}

void DaemonPlane::sleep() {
  {
    const std::lock_guard guard(mutex_);
    if (!worker_.may_sleep()) return;
  }
  pollfd waiting{worker_.descriptor(), POLLIN, 0};
  ::poll(&waiting, 1, max_sleep_milliseconds);
}

/// Where there is no memory it is the group that ends. Whether the action has more to do.
template <std::predicate<DaemonGroup&> Action>
bool DaemonPlane::with_memory(DaemonGroup& group, const Action& action) noexcept {
  bool more = false;
  try {
    more = action(group);
  } catch (const std::exception&) {
    group.fail_for_memory();
  }
  if (group.failed()) tell_failure();
  return more;
}

void DaemonPlane::count(const cohom_header& header, const Promotion* promotion,
                        std::span<const std::byte> data) noexcept {
  cohom_verdict verdict = cohom_drop_no_memory;
  try {
    verdict = judge(header, promotion, data);
  } catch (const std::exception&) {
    groups_[header.group]->fail_for_memory();
    tell_failure();
  }
  ++counts_[static_cast<std::size_t>(verdict)];
}

/// In the order in which the packets of the kernel's program are looked at.
cohom_verdict DaemonPlane::judge(const cohom_header& header, const Promotion* promotion,
                                 std::span<const std::byte> data) {
  if (const auto verdict = cohom_check_form(&header); verdict != cohom_fine) return verdict;
  if (header.group >= groups_.size() || !groups_[header.group]) return cohom_drop_group;
  DaemonGroup& group = *groups_[header.group];
  const GroupPlan& plan = group.plan();
  if (const auto verdict = cohom_check_group(&header, plan.job, plan.epoch); verdict != cohom_fine)
    return verdict;
  if (group.failed()) return cohom_drop_group;
  const bool had_waiting_sums = group.has_waiting_sums();
  const cohom_verdict verdict =
      promotion != nullptr ? group.take_narrow(header, *promotion, data) : group.take(header, data);
  if (verdict == cohom_hello_answered) queue_hello(header.group);
  if (group.has_waiting_sums() && !had_waiting_sums)
    groups_with_waiting_sums_.push_back(header.group);
  if (group.failed()) tell_failure();
  return verdict;
}

}  // namespace

std::unique_ptr<DataPlane> make_daemon_plane(const DaemonSetup& setup) {
  return std::make_unique<DaemonPlane>(setup);
}

}  // namespace cohom::offload
