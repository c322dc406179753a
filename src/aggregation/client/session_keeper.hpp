#pragma once
// SessionKeeper: the thread that joins the group, watches the control channel, and joins again.

#include "aggregation/client/control_client.hpp"
#include "aggregation/client/session.hpp"
#include "aggregation/net/event.hpp"
#include "aggregation/protocol/connection.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace cohom::offload {

class SessionKeeper {
 public:
  SessionKeeper(const Endpoint& address, const GroupMembership& membership,
                const ClientOptions& options);
  ~SessionKeeper();

  /// The session, if there is one that is not over.
  [[nodiscard]] std::shared_ptr<Session> session() const;
  [[nodiscard]] std::string why_none() const;
  /// Whether there is none because of other ranks: they have not joined, or have left.
  [[nodiscard]] bool waits_for_others() const;
  /// A call has failed on this rank: ends the session, also one that is just forming, in which
  /// another rank may be waiting for this one's part of the same call.
  void abandon(const std::string& reason);

 private:
  using Clock = std::chrono::steady_clock;

  void run(const std::stop_token& stop);
  void keep_one_session(const std::stop_token& stop);
  sockaddr_in look_up(const std::stop_token& stop);
  Connection join(const std::stop_token& stop);
  void shake_hands(Connection& connection, const std::stop_token& stop);
  Admitted wait_for_admission(Connection& connection, const std::stop_token& stop);
  std::shared_ptr<Session> meet(Connection& connection, const Admitted& admitted,
                                const std::stop_token& stop);
  void watch(Connection& connection, Session& session, const std::stop_token& stop);
  Message wait_for_message(Connection& connection, const std::stop_token& stop);
  bool sleep(int descriptor, short events, std::chrono::milliseconds time,
             const std::stop_token& stop);
  void wake() const;
  void publish(std::shared_ptr<Session> session, const std::string& why_none,
               bool own_fault = false);
  void publish_joined();

  Endpoint address_;
  GroupMembership membership_;
  ClientOptions options_;
  Join join_;  ///< of the present attempt
  Event wake_event_;
  mutable std::mutex mutex_;
  std::shared_ptr<Session> session_;
  std::string why_none_ = "not connected yet";
  bool own_fault_ = true;  ///< what is wrong is between this rank and the aggregator
  bool refused_for_ever_ = false;
  std::atomic<std::uint64_t> abandoned_ = 0;  ///< how often
  std::uint64_t abandoned_before_ = 0;        ///< the present attempt
  std::jthread thread_;                       ///< last: it uses all of the above
};

}  // namespace cohom::offload
