#pragma once
// ServerClients: the connections of a control server: who may come, who is heard, who must go.

#include "aggregation/net/endpoint.hpp"
#include "aggregation/server/server_client.hpp"
#include "aggregation/server/server_handshakes.hpp"
#include "aggregation/server/server_journal.hpp"
#include "aggregation/server/server_setup.hpp"

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace cohom::offload {

class ServerClients {
 public:
  using Clock = ServerClient::Clock;
  /// Takes a message of a client that has proven itself. What it throws costs that client.
  using Handler = std::function<void(ClientId, ServerClient&, const Message&)>;

  /// Listens from now on. Both outlive it. @throws Error(transport) when it cannot.
  ServerClients(const ServerSetup& setup, ServerJournal& journal);

  /// Where it listens: the port that was found for port 0.
  [[nodiscard]] sockaddr_in address() const;
  [[nodiscard]] std::size_t size() const { return clients_.size(); }
  [[nodiscard]] ServerClient& at(ClientId id) { return clients_.at(id); }

  /// Adds what there is to wait for; whether it is better not to wait for long.
  [[nodiscard]] bool add_descriptors(std::vector<pollfd>& waiting) const;
  /// When a connection must go, or is to be answered, if that is before `next`.
  [[nodiscard]] Clock::time_point next_deadline(Clock::time_point next) const;

  void take_verdicts();
  void accept();
  /// Writes to all, and reads of those who are heard.
  void serve(const Handler& handler);
  /// They lose their group and have to go; they are told why, or lose their connection where there
  /// is no memory for that.
  void dismiss(GroupKey group, const Refused& why);
  /// Marks those who are to have done something by now.
  void mark_waiting();
  /// Marked ones that are in a group, one by one: what is done about one may change the others.
  void for_gone_members(const std::function<void(ClientId, GroupKey)>& action) const;
  void remove_gone();
  /// Nobody comes any more, and nobody is there.
  void close();

 private:
  [[nodiscard]] bool may_accept() const;
  bool replace_oldest(ServerClient& newcomer);
  void throw_out_oldest(std::uint32_t source);
  void serve(ClientId id, ServerClient& client, const Handler& handler);
  [[nodiscard]] std::optional<Clock::time_point> deadline_of(const ServerClient& client) const;

  const ServerLimits& limits_;
  ServerJournal& journal_;
  FileDescriptor listener_;
  ServerHandshakes handshakes_;
  bool no_descriptors_ = false;  ///< for who knocks: it is looked again a little later
  ClientId next_client_ = 1;
  std::map<ClientId, ServerClient> clients_;
};

}  // namespace cohom::offload
