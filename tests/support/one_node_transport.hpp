#pragma once
// A transport between ranks of one node that carries nothing: all messages go by node windows.

#include "topology/topology_of.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>

namespace cohom::test {

class OneNodeTransport final : public Transport {
 public:
  OneNodeTransport(int rank, int ranks, std::uint32_t channels = 16)
      : rank_(rank), ranks_(ranks), channels_(channels) {}

  [[nodiscard]] std::string_view name() const override { return "one node"; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] std::size_t preferred_message_bytes() const override { return 64 << 10; }
  [[nodiscard]] bool reaches(MemorySpace space) const override {
    return space != MemorySpace::cuda;
  }
  [[nodiscard]] std::uint32_t channels() const override { return channels_; }
  std::unique_ptr<Channel> open(std::uint32_t /*number*/) override {
    return std::make_unique<NoChannel>();
  }
  [[nodiscard]] std::shared_ptr<const Topology> topology() const override {
    auto topology = std::make_shared<Topology>();
    topology->nodes = {.of_rank = std::vector<std::uint32_t>(std::size_t(ranks_)), .count = 1};
    return topology;
  }
  [[nodiscard]] WireCounters counters() const override { return {}; }

 private:
  class NoChannel final : public Channel {
   public:
    void send(std::span<const std::byte> /*data*/, int /*peer*/, std::uint32_t /*tag*/,
              std::uint64_t /*cookie*/) override {
      throw std::logic_error("a message was sent beyond the node");
    }
    void receive(std::span<std::byte> /*buffer*/, int /*peer*/, std::uint32_t /*tag*/,
                 std::uint64_t /*cookie*/) override {
      throw std::logic_error("a message is expected from beyond the node");
    }
    std::size_t poll(std::span<Completion> /*out*/) override { return 0; }
  };

  int rank_, ranks_;
  std::uint32_t channels_;
};

}  // namespace cohom::test
