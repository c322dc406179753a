#pragma once
// LocalSwitch: an aggregator on a port of 127.0.0.1, in threads of this process.

#include "aggregation/server/control_server.hpp"
#include "aggregation/server/data_plane.hpp"

#include <arpa/inet.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace cohom::test {

class LocalSwitch {
 public:
  static constexpr const char* token = "a secret of this test";

  /// Serves until it is gone. Port 0: any that is free.
  explicit LocalSwitch(std::unique_ptr<offload::DataPlane> plane, std::uint16_t port = 0)
      : plane_(std::move(plane)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    server_ = std::make_unique<offload::ControlServer>(
        offload::ServerSetup{
            .listen = address, .token = token, .operator_token = {}, .parent = {}, .limits = {}},
        *plane_);
    thread_ = std::thread([this] { server_->run(); });
  }
  /// Its workers learn that it is gone.
  ~LocalSwitch() {
    server_->stop();
    thread_.join();
  }
  LocalSwitch(const LocalSwitch&) = delete;
  LocalSwitch& operator=(const LocalSwitch&) = delete;

  [[nodiscard]] std::uint16_t port() const { return ntohs(server_->address().sin_port); }
  /// What Options::aggregator wants.
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port()); }

 private:
  std::unique_ptr<offload::DataPlane> plane_;
  std::unique_ptr<offload::ControlServer> server_;
  std::thread thread_;
};

}  // namespace cohom::test
