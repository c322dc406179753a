#include "aggregation/server/control_query.hpp"

#include "aggregation/net/endpoint.hpp"
#include "aggregation/protocol/connection.hpp"
#include "aggregation/protocol/handshake.hpp"

#include <cohom/error.hpp>

#include <poll.h>

#include <chrono>
#include <optional>

namespace cohom::offload {

namespace {

constexpr std::chrono::seconds patience{5};

/// One question and its answer; each step ends when the deadline is over.
class Query {
 public:
  explicit Query(const sockaddr_in& address)
      : connection_(start_connecting(address), max_message_bytes) {
    if (!wait_for(POLLOUT)) fail("no connection within 5 s");
    if (const auto failure = connect_failure(connection_.descriptor()); !failure.empty())
      fail(failure);
  }

  std::string status(const StatusQuery& query) {
    ClientHandshake handshake(query.token, query.credential, query.munge);
    connection_.send(handshake.begin());
    while (!handshake.done())
      if (const auto proof = handshake.answer(next_message())) connection_.send(*proof);
    StatusRequest request;
    if (query.job)
      request = {query.job->public_key(), query.job->sign(handshake.status_statement())};
    connection_.send(request);
    const Message answer = next_message();
    const auto* status = std::get_if<Status>(&answer);
    if (status == nullptr) throw_meaningless_message();
    return status->json;
  }

 private:
  [[noreturn]] static void fail(const std::string& why) { throw Error(ErrorKind::transport, why); }

  /// Whether it happens in time.
  bool wait_for(short events) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline_ - std::chrono::steady_clock::now());
    pollfd waiting{connection_.descriptor(), events, 0};
    return left.count() > 0 && ::poll(&waiting, 1, static_cast<int>(left.count())) > 0;
  }

  Message next_message() {
    bool alive = true;
    for (;;) {
      if (auto message = connection_.next()) {
        if (const auto* refused = std::get_if<Refused>(&*message))
          fail(std::string(name_of(refused->reason)) + ": " + refused->text);
        return std::move(*message);
      }
      if (!alive) fail("the connection has ended");
      if (!wait_for(POLLIN)) fail("no answer within 5 s");
      alive = connection_.read();
    }
  }

  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + patience;
  Connection connection_;
};

}  // namespace

std::string query_status(const sockaddr_in& address, const StatusQuery& query) {
  try {
    return Query(address).status(query);
  } catch (const Error& error) {
    throw Error(error.kind(), "aggregator " + text_of(address) + ": " + error.what());
  }
}

}  // namespace cohom::offload
