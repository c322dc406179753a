#pragma once
// A switch that sums, with its control server, in this process; and how its clients are set up and
// waited for.

#include "aggregation/client/network_aggregator.hpp"
#include "aggregation/server/control_query.hpp"
#include "aggregation/server/control_server.hpp"
#include "aggregation/server/data_plane.hpp"

#include <nlohmann/json.hpp>

#include <arpa/inet.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

namespace cohom::test {

inline constexpr const char* token = "secret";
inline constexpr const char* operator_token = "an operator's secret";

inline sockaddr_in local(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// Serves on 127.0.0.1 until it is gone.
class Switch {
 public:
  explicit Switch(std::unique_ptr<offload::DataPlane> plane,
                  const offload::ServerLimits& limits = {}, std::uint16_t parent_port = 0,
                  std::uint16_t port = 0)
      : plane_(std::move(plane)) {
    offload::ServerSetup setup{.listen = local(port),
                               .token = token,
                               .operator_token = operator_token,
                               .parent = {},
                               .limits = limits};
    if (parent_port != 0) setup.parent = local(parent_port);
    server_ = std::make_unique<offload::ControlServer>(setup, *plane_);
    thread_ = std::thread([this] { server_->run(); });
  }
  ~Switch() {
    server_->stop();
    thread_.join();
  }
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  [[nodiscard]] std::uint16_t port() const { return ntohs(server_->address().sin_port); }
  [[nodiscard]] offload::Endpoint endpoint() const { return {"127.0.0.1", port()}; }
  [[nodiscard]] nlohmann::json status() const {
    return nlohmann::json::parse(offload::query_status(
        local(port()),
        {.token = operator_token, .credential = offload::Credential::operator_token}));
  }

 private:
  std::unique_ptr<offload::DataPlane> plane_;
  std::unique_ptr<offload::ControlServer> server_;
  std::thread thread_;
};

/// A client of it, with short packets and few slots.
inline offload::ClientOptions packet_options() {
  return {
      .token = token, .payload_bytes = 1000, .slots = 16, .retry = std::chrono::milliseconds(20)};
}

/// Whether the condition came true in time.
inline bool wait_for(const std::function<bool()>& condition,
                     std::chrono::seconds patience = std::chrono::seconds(20)) {
  for (const auto end = std::chrono::steady_clock::now() + patience;
       std::chrono::steady_clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

}  // namespace cohom::test
