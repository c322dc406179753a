#pragma once
// Worker: one process's part in a UCX network, shared by all its transports.

#include "ucx_transport/context.hpp"
#include "ucx_transport/endpoint.hpp"
#include "ucx_transport/operation.hpp"

#include "aggregation/protocol/ucx_address.hpp"

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

namespace cohom::ucx {

/// Whether two addresses are of one worker, which UCX connects in another way than others.
bool is_of_same_worker(std::span<const std::byte> address, std::span<const std::byte> other);

/// Threads of different transports meet here, so all but the first four functions want the lock.
class Worker {
 public:
  /// @throws Error(transport) when UCX cannot start.
  explicit Worker(const ContextSettings& settings = {});
  /// Connections go, whether their peers are ready for it or not.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The one of this process, made at first use. It stays until the process ends, when all ranks
  /// are known to be done: what was sent last may still be on its way when a transport is
  /// destroyed.
  static std::shared_ptr<Worker> of_process();

  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  /// A random number: who it is, over all processes of a network.
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] const Context& context() const { return context_; }

  /// What others need to connect to it.
  [[nodiscard]] std::vector<std::byte> address() const;
  /// The same for processes that do not trust each other, with what they check.
  [[nodiscard]] offload::UcxAddress sealed_address() const;
  /// The connection to worker number `id`, made when there is none or when it broke.
  std::shared_ptr<Endpoint> connect(std::uint64_t id, std::span<const std::byte> address);

  [[nodiscard]] ucp_worker_h get() const { return worker_; }
  /// An active message that means nothing. Connections carry messages in order, and take one only
  /// when the network took those before it: when this one is sent, they have left.
  static constexpr unsigned flush_message = 0;
  /// Whether anything moved.
  bool progress() { return ucp_worker_progress(worker_) != 0; }
  /// How many connections have broken so far.
  [[nodiscard]] std::size_t failures() const { return failures_; }
  /// For workers with UCP_FEATURE_WAKEUP: may_sleep() says whether this thread may wait for the
  /// descriptor to become readable; signal() makes it so, from any thread.
  [[nodiscard]] int descriptor() const;
  [[nodiscard]] bool may_sleep() { return ucp_worker_arm(worker_) == UCS_OK; }
  void signal() { ucp_worker_signal(worker_); }
  /// Counts up failures() when it breaks. Makes progress: not to be called by what UCX calls.
  std::unique_ptr<Endpoint> make_endpoint(std::span<const std::byte> address);
  /// Who takes the active messages of a number. The handler never throws.
  void set_handler(unsigned id, ucp_am_recv_callback_t handler, void* argument);
  [[nodiscard]] OperationPool& operations() { return operations_; }

  /// A number below `groups` that no other group of this worker has now.
  /// @throws Error(transport) when all are taken.
  std::uint32_t take_group();
  void give_back_group(std::uint32_t group) { groups_taken_.erase(group); }
  static constexpr std::uint32_t groups = 1u << 20;

 private:
  void learn_of_deaths();

  Context context_;
  ucp_worker_h worker_ = nullptr;
  std::uint64_t id_;
  std::mutex mutex_;
  OperationPool operations_;
  std::size_t failures_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Endpoint>> endpoints_;
  std::set<std::uint32_t> groups_taken_;
  std::uint32_t next_group_ = 0;
};

}  // namespace cohom::ucx
