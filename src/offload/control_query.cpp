#include "offload/control_query.hpp"

#include "offload/connection.hpp"
#include "offload/endpoint.hpp"

#include <cohom/error.hpp>

#include <poll.h>

#include <chrono>
#include <optional>

namespace cohom::offload {

namespace {

constexpr std::chrono::seconds patience{5};

/// Whether it happens in time.
bool wait_for(int descriptor, short events, std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  pollfd waiting{descriptor, events, 0};
  return left.count() > 0 && ::poll(&waiting, 1, static_cast<int>(left.count())) > 0;
}

std::optional<Message> next_of(Connection& connection, const auto& fail) {
  try {
    return connection.next();
  } catch (const Error& error) {
    fail(error.what());
    throw;
  }
}

}  // namespace

std::string query_status(const sockaddr_in& address, const std::string& token) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::transport, "aggregator " + text_of(address) + ": " + why);
  };
  Connection connection(start_connecting(address), most_message_bytes);
  if (!wait_for(connection.descriptor(), POLLOUT, deadline)) fail("no connection within 5 s");
  if (const auto failure = connect_failure(connection.descriptor()); !failure.empty())
    fail(failure);
  connection.send(StatusRequest{token});
  while (wait_for(connection.descriptor(), POLLIN, deadline)) {
    const bool alive = connection.read();
    const auto answer = next_of(connection, fail);
    if (answer) {
      if (const auto* status = std::get_if<Status>(&*answer)) return status->json;
      if (const auto* refused = std::get_if<Refused>(&*answer))
        fail(std::string(name_of(refused->reason)) + ": " + refused->text);
    }
    if (!alive) fail("the connection has ended");
  }
  fail("no answer within 5 s");
  return {};
}

}  // namespace cohom::offload
