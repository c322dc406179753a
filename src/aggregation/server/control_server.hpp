#pragma once
// ControlServer: admits groups to a data plane, lets go of those that lose a worker, and tells how
// things stand. One thread, poll().

#include "aggregation/net/event.hpp"
#include "aggregation/server/data_plane.hpp"
#include "aggregation/server/server_clients.hpp"
#include "aggregation/server/server_groups.hpp"
#include "aggregation/server/server_journal.hpp"
#include "aggregation/server/server_seats.hpp"
#include "aggregation/server/server_setup.hpp"
#include "aggregation/server/server_status.hpp"

#include <atomic>

namespace cohom::offload {

class ControlServer {
 public:
  /// Listens from now on. The plane outlives the server.
  /// @throws Error(transport) when it cannot.
  ControlServer(const ServerSetup& setup, DataPlane& plane);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Serves until stop(). Then all groups are gone, and their workers know. An exception, too, ends
  /// all connections, and nobody can make one: no client waits for a server that serves no longer.
  void run();
  /// From any thread or signal handler.
  void stop();
  /// Where it listens: the port that was found for port 0.
  [[nodiscard]] sockaddr_in address() const { return clients_.address(); }

 private:
  void wait();
  void handle(ClientId id, ServerClient& client, const Message& message);

  ServerSetup setup_;  ///< the parts refer to it
  Event stop_event_;
  std::atomic<bool> stopping_ = false;
  ServerJournal journal_;
  ServerClients clients_;
  ServerGroups groups_;
  ServerSeats seats_;
  ServerStatus status_;
};

}  // namespace cohom::offload
