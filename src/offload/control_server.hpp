#pragma once
// ControlServer: admits groups to a data plane, lets go of those that lose a worker, and tells how
// things stand. One thread, poll().

#include "offload/connection.hpp"
#include "offload/data_plane.hpp"
#include "offload/endpoint.hpp"
#include "offload/server_group.hpp"

#include <nlohmann/json_fwd.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cohom::offload {

struct ServerLimits {
  std::uint32_t jobs = 16;
  std::uint32_t groups = 64;
  std::uint32_t group_slots = 256;
  std::uint32_t payload_bytes = 8192;
  std::uint32_t connections = 1024;
  /// How long a group may take to form, and a new connection to say what it wants.
  std::chrono::milliseconds patience{30000};
};

struct ServerSetup {
  sockaddr_in listen{};
  std::string token;
  std::optional<sockaddr_in> parent;  ///< of a leaf: its parent's control channel
  ServerLimits limits;
};

class ControlServer {
 public:
  /// Listens from now on. The plane outlives the server.
  /// @throws Error(transport) when it cannot.
  ControlServer(const ServerSetup& setup, DataPlane& plane);
  ~ControlServer();

  /// Serves until stop(). Then all groups are gone, and their workers know.
  void run();
  /// From any thread or signal handler.
  void stop();
  /// What `status` tells.
  [[nodiscard]] nlohmann::ordered_json status() const;
  /// Where it listens: the port that was found for port 0.
  [[nodiscard]] sockaddr_in address() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    Connection connection;
    std::string peer;
    Clock::time_point since;
    std::optional<GroupKey> group;
    bool asked = false;    ///< has sent something sensible
    bool leaving = false;  ///< goes once everything is written
    bool gone = false;
  };

  void wait();
  void accept_clients();
  void serve(ClientId id, Client& client);
  void handle(ClientId id, Client& client, const Message& message);
  void join(ClientId id, Client& client, const Join& request);
  [[nodiscard]] std::uint32_t asked_payload(const Join& request) const;
  [[nodiscard]] std::optional<Refused> why_not(const Join& request) const;
  [[nodiscard]] static std::optional<Refused> why_not_in(const ServerGroup& group,
                                                         const Join& request);
  void refuse(Client& client, const Refused& refused);
  void remove_gone_clients();
  void remove_late_clients();

  // server_groups.cpp: the life of a group.
  void ask_parent(ServerGroup& group, const Join& request);
  void serve_parent(ServerGroup& group);
  void handle_from_parent(ServerGroup& group, const Message& message);
  void admit(ServerGroup& group);
  void open_and_tell(ServerGroup& group, const GroupPlan& plan);
  void advance(ServerGroup& group);
  /// The group is no more; its clients learn why. Leaves no reference to it valid.
  void dissolve(GroupKey key, const Refused& why);
  void dissolve_late_groups();

  ServerSetup setup_;
  DataPlane& plane_;
  FileDescriptor listener_;
  FileDescriptor stop_event_;
  std::atomic<bool> stopping_ = false;
  bool no_descriptors_ = false;  ///< for who knocks: it is looked again a little later
  Clock::time_point start_ = Clock::now();
  std::random_device random_;
  std::uint32_t next_epoch_;
  ClientId next_client_ = 1;
  std::map<ClientId, Client> clients_;
  std::map<GroupKey, ServerGroup> groups_;
  struct Counts {
    std::uint64_t admitted = 0, refused = 0, gone = 0, wrong_tokens = 0, bad_messages = 0;
  } counts_;
};

}  // namespace cohom::offload
