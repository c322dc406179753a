#pragma once
// ControlServer: admits groups to a data plane, lets go of those that lose a worker, and tells how
// things stand. One thread, poll().

#include "aggregation/net/endpoint.hpp"
#include "aggregation/net/event.hpp"
#include "aggregation/protocol/connection.hpp"
#include "aggregation/protocol/handshake.hpp"
#include "aggregation/server/credential_judge.hpp"
#include "aggregation/server/data_plane.hpp"
#include "aggregation/server/log_budget.hpp"
#include "aggregation/server/server_group.hpp"
#include "aggregation/server/source_records.hpp"

#include <nlohmann/json_fwd.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohom::offload {

struct ServerLimits {
  std::uint32_t jobs = 16;
  std::uint32_t groups = 64;
  std::uint32_t group_slots = 256;
  std::uint32_t payload_bytes = 8192;
  std::uint32_t connections = 1024;
  /// How long a group may take to form, and a connection that has proven itself to say what it
  /// wants.
  std::chrono::milliseconds patience{30000};
  /// How long a connection may take to prove itself.
  std::chrono::milliseconds handshake{2000};
  SourceLimits sources = {};

  // Shares of the connections.

  [[nodiscard]] std::uint32_t share_of_source() const { return std::max(connections / 4, 1u); }
  /// Without a proof: all of them, and those of one source.
  [[nodiscard]] std::uint32_t unproven() const { return std::max(connections / 4, 1u); }
  [[nodiscard]] std::uint32_t unproven_of_source() const { return std::max(connections / 8, 1u); }
};

struct ServerSetup {
  sockaddr_in listen{};
  int listener = -1;           ///< a socket that listens there already; -1: there is none
  std::uint64_t restarts = 0;  ///< of the process that serves
  std::string token;           ///< empty: none serves
  std::optional<AllowedUsers> munge = {};  ///< in its place: the users who may come
  std::string operator_token = {};  ///< empty: nobody is told of single jobs but who has their key
  std::optional<sockaddr_in> parent;  ///< of a leaf: its parent's control channel
  ServerLimits limits;
};

class ControlServer {
 public:
  /// Listens from now on. The plane outlives the server.
  /// @throws Error(transport) when it cannot.
  ControlServer(const ServerSetup& setup, DataPlane& plane);
  ~ControlServer();

  /// Serves until stop(). Then all groups are gone, and their workers know. An exception, too, ends
  /// all connections, and nobody can make one: no client waits for a server that serves no longer.
  void run();
  /// From any thread or signal handler.
  void stop();
  /// Where it listens: the port that was found for port 0.
  [[nodiscard]] sockaddr_in address() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct PendingJoin {
    Join join;
    Nonce nonce{};
  };
  struct Client {
    Connection connection;
    std::uint32_t source = 0;  ///< its address
    std::string peer;
    Clock::time_point since;
    ServerHandshake handshake = {};
    std::optional<Begin> held;  ///< is answered when its source may be
    bool is_judged = false;     ///< munged is asked who it is
    bool proven = false;        ///< knows the token, or is of a user who may
    bool is_operator = false;
    std::map<std::uint32_t, PendingJoin> joining;  ///< by worker: joins that lack their proof
    std::optional<GroupKey> group;
    bool leaving = false;  ///< goes once everything is written
    bool gone = false;
  };

  void wait();
  [[nodiscard]] std::chrono::milliseconds time_to_look() const;
  void handle(ClientId id, Client& client, const Message& message);
  void challenge(Client& client, const Join& request);
  void take_proof(ClientId id, Client& client, const JoinProof& proof);
  void join(ClientId id, Client& client, const Join& request);
  [[nodiscard]] ServerGroup new_group(GroupKey key, const Join& request, ClientId id) const;
  [[nodiscard]] std::uint32_t asked_payload(const Join& request) const;
  [[nodiscard]] std::optional<Refused> why_not(const Join& request) const;
  [[nodiscard]] std::optional<Refused> why_no_new_group(const Join& request) const;
  [[nodiscard]] static std::optional<Refused> why_not_in(const ServerGroup& group,
                                                         const Join& request);
  void tell_status(Client& client, const StatusRequest& request);
  /// All groups, or those of the job.
  [[nodiscard]] nlohmann::ordered_json status(bool of_all, std::optional<std::uint64_t> job) const;
  [[nodiscard]] nlohmann::ordered_json status_of(const ServerGroup& group) const;

  // server_clients.cpp: who may come, who must go, and who has proven what.
  void accept_clients();
  [[nodiscard]] bool may_accept() const;
  bool make_way(Client& newcomer);
  void throw_out_oldest(std::uint32_t source);
  [[nodiscard]] static bool waits(const Client& client);
  [[nodiscard]] static bool listens_to(const Client& client);
  void serve(ClientId id, Client& client);
  void shake_hands(ClientId id, Client& client, const Message& message);
  void take_token(Client& client, const Proof& proof);
  void ask_munged(ClientId id, Client& client, const MungeCredential& message);
  void take_verdicts();
  void take_verdict(Client& client, const CredentialJudge::Verdict& verdict);
  void welcome(Client& client, const Message& message, bool is_operator);
  /// Answers a handshake that is held, if its source has its turn.
  void begin_in_turn(Client& client);
  void refuse(Client& client, const Refused& refused);
  [[nodiscard]] std::optional<Clock::time_point> deadline_of(const Client& client) const;
  void remove_gone_clients();
  void remove_late_clients();
  /// What fails in an action, for want of memory, too, costs this client, not all of them.
  void guarded(Client& client, const std::invocable auto& action) {
    try {
      action();
    } catch (const std::exception& error) {
      client.gone = true;
      ++counts_.bad_messages;
      report(client, error.what());
    }
  }
  /// Warns of what a client did, one line a source and minute.
  void report(const Client& client, std::string_view text) noexcept;
  /// Logs what goes on, so many lines a minute.
  void note(std::string_view text) noexcept;

  // server_groups.cpp: the life of a group.
  /// The same as guarded() for a group: it ends.
  void guarded(GroupKey key, const std::invocable auto& action) {
    try {
      action();
    } catch (const std::exception& error) {
      dissolve(key, {Refusal::no_resources, error.what()});
    }
  }
  void look_after(GroupKey key);
  void ask_parent(ServerGroup& group, const Join& request);
  void serve_parent(ServerGroup& group);
  void handle_from_parent(ServerGroup& group, const Message& message);
  void admit(ServerGroup& group);
  void open_and_tell(ServerGroup& group, const GroupPlan& plan);
  [[nodiscard]] bool all_ready(const ServerGroup& group) const;
  void advance(ServerGroup& group);
  /// The group, if there is one, is no more; its clients learn why, or lose their connection where
  /// there is no memory for that. Leaves no reference to it valid.
  void dissolve(GroupKey key, const Refused& why);
  void dissolve_if_late(ServerGroup& group);
  void dissolve_failed_groups();
  /// Whether it has its time; an address that is none ends the group.
  bool take_address(ClientId id, const Client& client, const UcxAddress& address);

  ServerSetup setup_;
  DataPlane& plane_;
  FileDescriptor listener_;
  Event stop_event_;
  std::atomic<bool> stopping_ = false;
  std::optional<CredentialJudge> judge_;  ///< where munge is the way
  bool no_descriptors_ = false;           ///< for who knocks: it is looked again a little later
  Clock::time_point start_ = Clock::now();
  ClientId next_client_ = 1;
  std::map<ClientId, Client> clients_;
  std::map<GroupKey, ServerGroup> groups_;
  struct Counts {
    std::uint64_t thrown_out = 0, admitted = 0, refused = 0, gone = 0, wrong_tokens = 0,
                  wrong_keys = 0, bad_messages = 0;
  } counts_;
  SourceRecords sources_;
  LogBudget notes_{max_notes, std::chrono::minutes(1)};
};

}  // namespace cohom::offload
