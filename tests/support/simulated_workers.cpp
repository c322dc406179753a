#include "simulated_workers.hpp"

#include "aggregation/net/endpoint.hpp"
#include "aggregation/protocol/hello.hpp"
#include "offload_switch.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <poll.h>

#include <algorithm>
#include <variant>

namespace cohom::test {

namespace {

using namespace offload;

constexpr int steps_between_hellos = 50;
constexpr std::uint32_t payload_bytes = 1000;
constexpr std::uint32_t own_group = 5;

}  // namespace

SimulatedWorkers::SimulatedWorkers(std::uint16_t port, const JobKey& job, std::uint32_t workers,
                                   std::span<const std::uint32_t> numbers)
    : job_(job) {
  for (const std::uint32_t number : numbers) {
    Worker& worker = workers_.emplace_back(
        Worker{.connection = Connection(start_connecting(local(port)), max_message_bytes),
               .handshake = ClientHandshake(token),
               .join = {.job = job.public_key(),
                        .worker = number,
                        .workers = workers,
                        .payload_bytes = payload_bytes,
                        .message_bytes = payload_bytes,
                        .slots = 4}});
    worker.connection.send(worker.handshake.begin());
  }
}

void SimulatedWorkers::step() {
  std::vector<pollfd> waiting;
  for (const Worker& worker : workers_)
    waiting.push_back({worker.connection.descriptor(),
                       short(worker.connection.wants_to_write() ? POLLIN | POLLOUT : POLLIN), 0});
  ::poll(waiting.data(), waiting.size(), 0);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    if (waiting[i].revents == 0 || !worker.refusal.empty()) continue;
    worker.connection.write();
    const bool alive = worker.connection.read();
    while (const auto message = worker.connection.next()) hear(worker, *message);
    if (!alive && worker.refusal.empty()) worker.refusal = "the connection has ended";
  }
  if (!path_) return;
  for (const auto& arrived : path_->take()) take(arrived);
  if (++steps_ % steps_between_hellos != 0) return;
  for (const Worker& worker : workers_)
    if (worker.admitted.kind == "ebpf" && !worker.is_known) say_hello(worker);
}

void SimulatedWorkers::hear(Worker& worker, const Message& message) {
  if (const auto* refused = std::get_if<Refused>(&message)) {
    worker.refusal = std::string(name_of(refused->reason)) + ": " + refused->text;
  } else if (!worker.handshake.done()) {
    const auto proof = worker.handshake.answer(message);
    worker.connection.send(proof ? *proof : Message(worker.join));
  } else if (const auto* challenge = std::get_if<JoinChallenge>(&message)) {
    worker.connection.send(
        JoinProof{worker.join.worker, job_.sign(join_statement(worker.join, challenge->nonce))});
  } else if (const auto* admitted = std::get_if<Admitted>(&message)) {
    worker.admitted = *admitted;
    if (!path_) path_ = make_simulated_path(*admitted);
    if (admitted->kind == "daemon") worker.connection.send(WorkerAddress{path_->address()});
    say_hello(worker);
  } else {
    worker.is_open = std::holds_alternative<Go>(message);
  }
}

/// A packet for one of the workers, which must have the worker's key.
void SimulatedWorkers::take(const SimulatedPath::Arrived& arrived) {
  const cohom_header& header = arrived.header;
  const auto found =
      std::ranges::find(workers_, header.worker, [](const Worker& w) { return w.join.worker; });
  ASSERT_NE(found, workers_.end()) << "of worker " << header.worker << ", who is not here";
  EXPECT_EQ(header.key, found->admitted.key);
  EXPECT_EQ(header.group, own_group);
  if (header.kind == cohom_sum) found->sum = arrived.words;
  if (header.kind != cohom_hello_answer || found->is_known) return;
  found->is_known = true;
  found->connection.send(Ready{});
}

void SimulatedWorkers::say_hello(const Worker& worker) {
  path_->send(make_hello({.job = job_.id(),
                          .epoch = worker.admitted.epoch,
                          .key = worker.admitted.key,
                          .group = worker.admitted.number,
                          .worker = worker.join.worker,
                          .own_group = own_group,
                          .nonce = worker.join.worker}),
              {});
}

void SimulatedWorkers::send(const Worker& worker, const cohom_header& use) {
  cohom_header header = use;
  header.magic = cohom_magic;
  header.version = cohom_packet_version;
  header.kind = cohom_contribution;
  header.job = job_.id();
  header.epoch = worker.admitted.epoch;
  header.key = worker.admitted.key;
  header.group = static_cast<__u16>(worker.admitted.number);
  header.worker = static_cast<__u16>(worker.join.worker);
  header.words = static_cast<__u16>(worker.contribution.size());
  path_->send(header, worker.contribution);
}

void SimulatedWorkers::repeat(const cohom_header& use) {
  for (const Worker& worker : workers_)
    if (worker.sum.empty()) send(worker, use);
}

bool SimulatedWorkers::open() const {
  return std::ranges::all_of(workers_, [](const Worker& worker) { return worker.is_open; });
}

std::vector<std::string> SimulatedWorkers::refusals() const {
  std::vector<std::string> all;
  for (const Worker& worker : workers_)
    if (!worker.refusal.empty()) all.push_back(worker.refusal);
  return all;
}

std::size_t SimulatedWorkers::count_of(const std::vector<std::uint64_t>& sum) const {
  return static_cast<std::size_t>(
      std::ranges::count(workers_, sum, [](const Worker& worker) { return worker.sum; }));
}

}  // namespace cohom::test
