#pragma once
// SimulatedWorkers: the workers of a group that come to one aggregator, in one thread, for groups
// of more workers than a test has processes. They are told apart by their connections; words of all
// of them have one path.

#include "aggregation/auth/job_key.hpp"
#include "aggregation/protocol/connection.hpp"
#include "aggregation/protocol/handshake.hpp"
#include "aggregation/protocol/packet.h"
#include "simulated_path.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohom::test {

class SimulatedWorkers {
 public:
  /// Workers of these numbers, of `workers`, join at 127.0.0.1:`port`.
  SimulatedWorkers(std::uint16_t port, const offload::JobKey& job, std::uint32_t workers,
                   std::span<const std::uint32_t> numbers);

  /// Goes on with what has come.
  void step();
  /// All may contribute.
  [[nodiscard]] bool open() const;
  /// Why those may not whom the aggregator has refused or left.
  [[nodiscard]] std::vector<std::string> refusals() const;

  /// Sends what each contributes to a use of a slot: `words` gives a worker's words.
  template <class Words>
  void contribute(const cohom_header& use, const Words& words) {
    for (Worker& worker : workers_) {
      worker.contribution = words(worker.join.worker);
      worker.sum.clear();
      send(worker, use);
    }
  }
  /// Once more for whom the sum has not come.
  void repeat(const cohom_header& use);
  /// How many have this sum.
  [[nodiscard]] std::size_t count_of(const std::vector<std::uint64_t>& sum) const;

 private:
  struct Worker {
    offload::Connection connection;
    offload::ClientHandshake handshake;
    offload::Join join;
    offload::Admitted admitted = {};
    bool is_known = false, is_open = false;
    std::string refusal = {};
    std::vector<std::uint64_t> contribution = {}, sum = {};
  };

  void hear(Worker& worker, const offload::Message& message);
  void take(const SimulatedPath::Arrived& arrived);
  void say_hello(const Worker& worker);
  void send(const Worker& worker, const cohom_header& use);

  const offload::JobKey& job_;
  std::vector<Worker> workers_;
  std::unique_ptr<SimulatedPath> path_;
  int steps_ = 0;
};

}  // namespace cohom::test
