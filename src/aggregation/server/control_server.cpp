#include "aggregation/server/control_server.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <variant>
#include <vector>

namespace cohom::offload {

namespace {

constexpr std::chrono::milliseconds idle_time{500};
constexpr std::chrono::milliseconds busy_time{10};  ///< while a parent is being met

}  // namespace

ControlServer::ControlServer(const ServerSetup& setup, DataPlane& plane)
    : setup_(setup),
      journal_(setup_.limits.sources),
      clients_(setup_, journal_),
      groups_(setup_, plane, clients_, journal_),
      seats_(setup_.limits, plane, groups_, journal_),
      status_(setup_, plane, clients_, groups_, journal_) {}

ControlServer::~ControlServer() = default;

void ControlServer::stop() {
  stopping_ = true;
  stop_event_.set();
}

void ControlServer::run() {
  const struct HangUp {
    ControlServer& server;
    ~HangUp() {
      server.groups_.clear();
      server.clients_.close();
    }
  } at_the_end{*this};
  while (!stopping_) {
    wait();
    clients_.take_verdicts();
    clients_.accept();
    clients_.serve([this](ClientId id, ServerClient& client, const Message& message) {
      handle(id, client, message);
    });
    groups_.advance();
    groups_.dissolve_failed();
    clients_.mark_waiting();
    clients_.for_gone_members([this](ClientId id, GroupKey key) { groups_.lose_member(id, key); });
    clients_.remove_gone();
  }
  groups_.dissolve_all({Refusal::gone, "the aggregator was stopped"});
}

/// Sleeps until something happens, or a connection must go or is to be answered.
void ControlServer::wait() {
  std::vector<pollfd> waiting{{stop_event_.descriptor(), POLLIN, 0}};
  const bool clients_are_busy = clients_.add_descriptors(waiting);
  const bool groups_are_busy = groups_.add_descriptors(waiting);
  auto time = busy_time;
  if (!clients_are_busy && !groups_are_busy) {
    const auto next = clients_.next_deadline(ServerClients::Clock::now() + idle_time);
    time =
        std::max(std::chrono::ceil<std::chrono::milliseconds>(next - ServerClients::Clock::now()),
                 std::chrono::milliseconds(1));
  }
  ::poll(waiting.data(), waiting.size(), static_cast<int>(time.count()));
}

/// What comes of a client that has proven itself.
void ControlServer::handle(ClientId id, ServerClient& client, const Message& message) {
  if (const auto* request = std::get_if<Join>(&message)) return seats_.challenge(client, *request);
  if (const auto* request = std::get_if<StatusRequest>(&message))
    return status_.tell(client, *request);
  bool has_meaning = false;
  if (const auto* proof = std::get_if<JoinProof>(&message))
    has_meaning = seats_.take_proof(id, client, *proof) || groups_.forward(id, client, *proof);
  else if (std::holds_alternative<Ready>(message))
    has_meaning = groups_.take_ready(id, client);
  else if (const auto* own = std::get_if<WorkerAddress>(&message))
    has_meaning = groups_.take_address(id, client, own->address);
  if (!has_meaning) throw_meaningless_message();
}

}  // namespace cohom::offload
