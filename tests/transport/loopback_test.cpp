// The transport contract over loopback: with and without rendezvous, and with streams that overtake
// each other.

#include "tests/transport/transport_contract.hpp"

#include "forwarding_transport.hpp"
#include "testing/loopback_transport.hpp"

#include <cohom/topology.hpp>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace cohom::testing {
namespace {

void run_as_threads(int ranks, const LoopbackOptions& options,
                    const std::function<void(Transport&)>& body) {
  LoopbackHub hub(ranks, options);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&hub, &body, rank] {
      try {
        const auto transport = hub.transport(rank);
        body(*transport);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
}

struct Eager {
  static constexpr bool sends_to_itself = true;
  static std::vector<int> rank_counts() {
    return test::races_only ? std::vector{2, 5} : std::vector{1, 2, 3, 5};
  }
  static void run(int ranks, const std::function<void(Transport&)>& body) {
    run_as_threads(ranks, {}, body);
  }
};

struct Rendezvous : Eager {
  static void run(int ranks, const std::function<void(Transport&)>& body) {
    run_as_threads(ranks, {.eager_limit = 0}, body);
  }
};

struct Delayed : Eager {
  static void run(int ranks, const std::function<void(Transport&)>& body) {
    run_as_threads(ranks, {.eager_limit = 1000, .delay = 128}, body);
  }
};

struct Lingering : Eager {
  static void run(int ranks, const std::function<void(Transport&)>& body) {
    run_as_threads(ranks, {.eager_limit = 1 << 20, .lingering_sends = true}, body);
  }
};

/// One node, whose ranks share memory.
struct Windows : Eager {
  static void run(int ranks, const std::function<void(Transport&)>& body) {
    run_as_threads(ranks,
                   {.nodes = std::vector<std::uint64_t>(std::size_t(ranks)), .node_windows = true},
                   body);
  }
};

/// Two nodes, of which one has a single rank where the ranks are odd.
struct WindowsOfTwoNodes : Eager {
  static void run(int ranks, const std::function<void(Transport&)>& body) {
    std::vector<std::uint64_t> nodes;
    for (int rank = 0; rank < ranks; ++rank) nodes.push_back(rank < ranks / 2 ? 0 : 1);
    run_as_threads(ranks, {.eager_limit = 1000, .nodes = nodes, .node_windows = true}, body);
  }
};

TEST(LoopbackTopology, IsWhatATestSays) {
  unsetenv("COHOM_TOPOLOGY");
  LoopbackHub hub(3, {.nodes = {8, 9, 8}});
  const Communicator communicator = hub.communicator(2);
  EXPECT_EQ(communicator.topology().nodes.of_rank, (std::vector<std::uint32_t>{0, 1, 0}));
  LoopbackHub plain(3);
  EXPECT_EQ(plain.communicator(0).topology().nodes.of_rank, (std::vector<std::uint32_t>{0, 1, 2}));
  setenv("COHOM_TOPOLOGY", "nodes=2,1", 1);
  LoopbackHub given(3, {.nodes = {8, 9, 8}});
  EXPECT_EQ(given.communicator(0).topology().nodes.of_rank, (std::vector<std::uint32_t>{0, 0, 1}));
  unsetenv("COHOM_TOPOLOGY");
}

// Its ranks tell each other nothing.
TEST(LoopbackTopology, IsNotKnownToEveryTransport) {
  class Silent final : public test::ForwardingTransport {
   public:
    using ForwardingTransport::ForwardingTransport;
    [[nodiscard]] std::shared_ptr<const Topology> topology() const override { return nullptr; }
  };
  LoopbackHub hub(2, {.nodes = {1, 1}});
  const Communicator communicator(std::make_shared<Silent>(hub.transport(0)));
  EXPECT_EQ(communicator.topology().nodes.of_rank, (std::vector<std::uint32_t>{0, 1}));
}

INSTANTIATE_TYPED_TEST_SUITE_P(LoopbackEager, TransportContract, Eager);
INSTANTIATE_TYPED_TEST_SUITE_P(LoopbackRendezvous, TransportContract, Rendezvous);
INSTANTIATE_TYPED_TEST_SUITE_P(LoopbackDelayed, TransportContract, Delayed);
INSTANTIATE_TYPED_TEST_SUITE_P(LoopbackLingering, TransportContract, Lingering);
INSTANTIATE_TYPED_TEST_SUITE_P(LoopbackWindows, TransportContract, Windows);
INSTANTIATE_TYPED_TEST_SUITE_P(LoopbackWindowsOfTwoNodes, TransportContract, WindowsOfTwoNodes);

}  // namespace
}  // namespace cohom::testing
