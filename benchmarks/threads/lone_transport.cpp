#include "threads/lone_transport.hpp"

#include "topology/machine.hpp"
#include "topology/rank_place.hpp"
#include "topology/topology_of.hpp"

#include <cohom/error.hpp>

namespace cohom::bench {

namespace {

class LoneChannel final : public Channel {
 public:
  void send(std::span<const std::byte>, int, std::uint32_t, std::uint64_t) override { nobody(); }
  void receive(std::span<std::byte>, int, std::uint32_t, std::uint64_t) override { nobody(); }
  std::size_t poll(std::span<Completion>) override { return 0; }

 private:
  [[noreturn]] static void nobody() {
    throw Error(ErrorKind::transport, "a rank that is alone sends and receives nothing");
  }
};

class LoneTransport final : public Transport {
 public:
  LoneTransport() {
    const RankPlace place = own_place({}, 1);
    topology_ = std::make_shared<const Topology>(topology_of({&place, 1}, 0, this_machine()));
  }

  [[nodiscard]] std::string_view name() const override { return "none"; }
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int ranks() const override { return 1; }
  /// As MPI's between nodes, so that pieces are as long as there.
  [[nodiscard]] std::size_t preferred_message_bytes() const override { return 64 << 10; }
  [[nodiscard]] bool reaches(MemorySpace space) const override {
    return space == MemorySpace::host;
  }
  [[nodiscard]] std::uint32_t channels() const override { return 16; }
  std::unique_ptr<Channel> open(std::uint32_t) override { return std::make_unique<LoneChannel>(); }
  [[nodiscard]] std::shared_ptr<const Topology> topology() const override { return topology_; }
  [[nodiscard]] WireCounters counters() const override { return {}; }

 private:
  std::shared_ptr<const Topology> topology_;
};

}  // namespace

std::shared_ptr<Transport> lone_transport() { return std::make_shared<LoneTransport>(); }

}  // namespace cohom::bench
