#include "aggregation/client/session_keeper.hpp"

#include "aggregation/client/packet_path.hpp"
#include "aggregation/client/packet_socket.hpp"
#include "aggregation/net/host_lookup.hpp"
#include "aggregation/protocol/admission.hpp"
#include "aggregation/protocol/handshake.hpp"
#include "base/float_mode.hpp"
#include "base/log.hpp"

#include <cohom/error.hpp>

#include <spdlog/spdlog.h>

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <variant>

namespace cohom::offload {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds connect_patience{3000};
constexpr milliseconds group_patience{40000};  ///< the server has less
constexpr milliseconds watch_interval{1000};
constexpr int max_backoff = 16;
constexpr int max_join_challenges = 16;  ///< one of each aggregator up to the root

/// The caller wants the thread to stop: no error, and nobody hears of it.
struct Stopped {};

/// Signals are the program's own business.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

/// Trying again would not help.
bool is_final(Refusal reason) {
  return reason == Refusal::wrong_token || reason == Refusal::wrong_key ||
         reason == Refusal::wrong_user || reason == Refusal::not_supported;
}

/// It is other ranks that have not come or have left.
bool is_of_others(Refusal reason) {
  return reason == Refusal::lock_failed || reason == Refusal::gone;
}

struct RefusedByServer {
  Refused refused;
};

}  // namespace

SessionKeeper::SessionKeeper(const Endpoint& address, const GroupMembership& membership,
                             const ClientOptions& options)
    : address_(address), membership_(membership), options_(options) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

SessionKeeper::~SessionKeeper() {
  thread_.request_stop();
  wake();
}

std::shared_ptr<Session> SessionKeeper::session() const {
  const std::lock_guard lock(mutex_);
  return session_ && !session_->over() ? session_ : nullptr;
}

std::string SessionKeeper::why_none() const {
  const std::lock_guard lock(mutex_);
  return session_ && session_->over() ? session_->reason() : why_none_;
}

bool SessionKeeper::waits_for_others() const {
  const std::lock_guard lock(mutex_);
  return !own_fault_;
}

void SessionKeeper::abandon(const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    ++abandoned_;
    if (session_) session_->end(reason);
  }
  wake();
}

void SessionKeeper::wake() const { wake_event_.set(); }

void SessionKeeper::publish(std::shared_ptr<Session> session, const std::string& why_none,
                            bool own_fault) {
  const std::lock_guard lock(mutex_);
  session_ = std::move(session);
  why_none_ = why_none;
  own_fault_ = own_fault;
}

/// Why an earlier session ended says more.
void SessionKeeper::publish_joined() {
  const std::lock_guard lock(mutex_);
  if (own_fault_) why_none_ = "no answer yet; the aggregator answers when all ranks have joined";
  own_fault_ = false;
}

void SessionKeeper::run(const std::stop_token& stop) {
  const DefaultFloatMode mode;
  block_signals();
  int backoff = 1;
  while (!stop.stop_requested() && !refused_for_ever_) {
    const auto begin = Clock::now();
    try {
      keep_one_session(stop);
      if (Clock::now() - begin > group_patience) backoff = 1;
    } catch (const Stopped&) {
      return;
    } catch (const RefusedByServer& error) {
      const auto& [reason, text] = error.refused;
      refused_for_ever_ = is_final(reason);
      publish(nullptr, std::string(name_of(reason)) + ": " + text, !is_of_others(reason));
      log_once("aggregator " + address_.text() + ": " + why_none());
    } catch (const std::exception& error) {
      publish(nullptr, error.what(), true);
      log_once("aggregator " + address_.text() + ": " + error.what());
    }
    try {
      const auto pause = options_.retry * backoff;
      for (const auto end = Clock::now() + pause; Clock::now() < end;) {
        abandoned_before_ = abandoned_;
        sleep(-1, 0, std::chrono::ceil<milliseconds>(end - Clock::now()), stop);
      }
    } catch (const Stopped&) {
      return;
    } catch (const Error&) {  // abandoned once more while nothing was there
    }
    backoff = std::min(2 * backoff, max_backoff);
  }
}

/// From joining to the session's end.
void SessionKeeper::keep_one_session(const std::stop_token& stop) {
  abandoned_before_ = abandoned_;
  Connection connection = join(stop);
  const Admitted admitted = wait_for_admission(connection, stop);
  const auto session = meet(connection, admitted, stop);
  publish(session, {});
  log().info("aggregator {} ({}) sums for rank {} of {}: {} slots of {} bytes", address_.text(),
             admitted.kind, membership_.rank, membership_.ranks, admitted.slots,
             admitted.payload_bytes);
  try {
    watch(connection, *session, stop);
  } catch (const Stopped&) {
    session->end("the aggregator's client is gone");
    throw;
  } catch (const RefusedByServer& error) {
    session->end(std::string(name_of(error.refused.reason)) + ": " + error.refused.text);
  } catch (const std::exception& error) {
    session->end(error.what());
  }
  log().info("aggregator {}: {}", address_.text(), session->reason());
}

/// The system may take half a minute for a name, and the caller must not wait for that.
sockaddr_in SessionKeeper::look_up(const std::stop_token& stop) {
  if (const auto address = numeric(address_)) return *address;
  const HostLookup lookup(address_);
  while (!sleep(lookup.descriptor(), POLLIN, watch_interval, stop)) {
  }
  return lookup.address();
}

Connection SessionKeeper::join(const std::stop_token& stop) {
  const sockaddr_in address = look_up(stop);
  FileDescriptor socket = start_connecting(address);
  if (!sleep(socket.get(), POLLOUT, connect_patience, stop))
    throw Error(ErrorKind::transport, "no connection to " + text_of(address) + " within 3 s");
  if (const auto failure = connect_failure(socket.get()); !failure.empty())
    throw Error(ErrorKind::transport, "no connection to " + text_of(address) + ": " + failure);
  keep_alive(socket);
  Connection connection(std::move(socket), max_message_bytes);
  shake_hands(connection, stop);
  const std::size_t path = payload_bytes_of_path(address);
  join_ = {
      .job = membership_.job.public_key(),
      .group = membership_.group,
      .worker = static_cast<std::uint32_t>(membership_.rank),
      .workers = static_cast<std::uint32_t>(membership_.ranks),
      .payload_bytes = static_cast<std::uint32_t>(std::min(options_.payload_bytes, path)),
      .message_bytes = options_.messages ? static_cast<std::uint32_t>(options_.message_bytes) : 0,
      .slots = options_.slots};
  connection.send(join_);
  publish_joined();
  return connection;
}

/// Both sides prove that they know the token, or who they are.
void SessionKeeper::shake_hands(Connection& connection, const std::stop_token& stop) {
  ClientHandshake handshake(options_.token, Credential::token, options_.munge);
  connection.send(handshake.begin());
  while (!handshake.done())
    if (const auto proof = handshake.answer(wait_for_message(connection, stop)))
      connection.send(*proof);
}

Admitted SessionKeeper::wait_for_admission(Connection& connection, const std::stop_token& stop) {
  Message message = wait_for_message(connection, stop);
  for (int asked = 0; asked < max_join_challenges; ++asked) {
    const auto* const challenge = std::get_if<JoinChallenge>(&message);
    if (challenge == nullptr || challenge->worker != join_.worker) break;
    const Signature signature = membership_.job.sign(join_statement(join_, challenge->nonce));
    connection.send(JoinProof{join_.worker, signature});
    message = wait_for_message(connection, stop);
  }
  const auto* const admitted = std::get_if<Admitted>(&message);
  if (admitted == nullptr) throw_meaningless_message();
  const bool daemon = admitted->kind == "daemon" && options_.messages;
  if (admitted->kind != "ebpf" && !daemon)
    throw RefusedByServer{{Refusal::not_supported, "an aggregator of kind '" + admitted->kind +
                                                       "' cannot be reached from here"}};
  check_admitted(*admitted,
                 {.payload_bytes = daemon ? options_.message_bytes : options_.payload_bytes,
                  .slots = options_.slots});
  return *admitted;
}

/// Shows the data path where this worker is, and that words get through.
std::shared_ptr<Session> SessionKeeper::meet(Connection& connection, const Admitted& admitted,
                                             const std::stop_token& stop) {
  PathSetup setup{admitted, {}, membership_, options_, stop};
  socklen_t size = sizeof setup.control;
  if (::getpeername(connection.descriptor(), reinterpret_cast<sockaddr*>(&setup.control), &size) !=
      0)
    throw_system_error("getpeername");
  auto session = std::make_shared<Session>(
      admitted, admitted.kind == "daemon" ? options_.messages(setup) : make_packet_path(setup));
  if (auto address = session->path->own_address())
    connection.send(WorkerAddress{std::move(*address)});
  while (!session->path->meet()) {
    sleep(-1, 0, milliseconds{0}, stop);
    if (!connection.read())
      throw Error(ErrorKind::transport, "the aggregator has closed the connection");
    if (const auto message = connection.next())
      if (const auto* refused = std::get_if<Refused>(&*message)) throw RefusedByServer{*refused};
  }
  connection.send(Ready{});
  if (!std::holds_alternative<Go>(wait_for_message(connection, stop))) throw_meaningless_message();
  return session;
}

/// Until the aggregator or the caller ends the session.
void SessionKeeper::watch(Connection& connection, Session& session, const std::stop_token& stop) {
  while (!session.over()) {
    if (!sleep(connection.descriptor(), POLLIN, watch_interval, stop)) continue;
    const bool alive = connection.read();
    if (const auto message = connection.next())
      if (const auto* refused = std::get_if<Refused>(&*message)) throw RefusedByServer{*refused};
    if (!alive) throw Error(ErrorKind::transport, "the aggregator has closed the connection");
  }
}

Message SessionKeeper::wait_for_message(Connection& connection, const std::stop_token& stop) {
  const auto deadline = Clock::now() + group_patience;
  while (Clock::now() < deadline) {
    const bool alive =
        sleep(connection.descriptor(), POLLIN, watch_interval, stop) ? connection.read() : true;
    if (auto message = connection.next()) {
      if (const auto* refused = std::get_if<Refused>(&*message)) throw RefusedByServer{*refused};
      return std::move(*message);
    }
    if (!alive) throw Error(ErrorKind::transport, "the aggregator has closed the connection");
  }
  throw Error(ErrorKind::transport, "the aggregator is silent");
}

/// Waits for the descriptor (none if negative); whether it is ready. @throws Stopped
bool SessionKeeper::sleep(int descriptor, short events, milliseconds time,
                          const std::stop_token& stop) {
  std::array<pollfd, 2> waiting{pollfd{wake_event_.descriptor(), POLLIN, 0},
                                pollfd{descriptor, events, 0}};
  ::poll(waiting.data(), descriptor < 0 ? 1 : 2, static_cast<int>(time.count()));
  if (waiting[0].revents != 0) wake_event_.take();
  if (stop.stop_requested()) throw Stopped{};
  if (abandoned_ != abandoned_before_)
    throw Error(ErrorKind::transport, "a call has failed; connecting anew");
  return descriptor >= 0 && waiting[1].revents != 0;
}

}  // namespace cohom::offload
