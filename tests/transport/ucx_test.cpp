// The transport contract over UCX, path by path.

#include "tests/transport/transport_contract.hpp"
#include "tests/transport/ucx_cluster.hpp"
#include "ucx_transport/handshake.hpp"
#include "ucx_transport/loaded_library.hpp"
#include "ucx_transport/path.hpp"

#include <cohom/error.hpp>
#include <cohom/topology.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace cohom::testing {
namespace {

template <class Paths>
struct UcxCluster {
  static constexpr bool sends_to_itself = true;
  static std::vector<int> rank_counts() { return {1, 2, 3, 5}; }
  static void run(int ranks, const std::function<void(Transport&)>& body) {
    run_over_ucx(ranks, Paths::names, body);
  }
};

struct Tcp {
  static constexpr const char* names = "tcp,self";
};
struct SharedMemory {
  static constexpr const char* names = "posix,cma,self";
};
struct CopiedMemory {  // where processes may not read each other's memory
  static constexpr const char* names = "posix,self";
};

INSTANTIATE_TYPED_TEST_SUITE_P(UcxTcp, TransportContract, UcxCluster<Tcp>);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxSharedMemory, TransportContract, UcxCluster<SharedMemory>);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxCopiedMemory, TransportContract, UcxCluster<CopiedMemory>);

TEST(UcxTopology, IsOneNodeOfThisMachine) {
  run_over_ucx(3, Tcp::names, [](const Transport& transport) {
    const auto topology = transport.topology();
    ASSERT_NE(topology, nullptr);
    EXPECT_EQ(topology->nodes.of_rank, (std::vector<std::uint32_t>{0, 0, 0}));
    EXPECT_FALSE(topology->cores.empty());
    for (const UsableCore& core : topology->cores) EXPECT_FALSE(core.alone);
  });
}

TEST(UcxIntroduction, TravelsAsBytesAndIsRefusedWhereItIsNone) {
  const std::vector<std::byte> place(5, std::byte{7}), address(3, std::byte{9});
  auto bytes = ucx::to_bytes(
      {.worker = 1, .message_bytes = 2, .group = 3, .place = place, .address = address});
  const ucx::Introduction read = ucx::introduction_of(bytes);
  EXPECT_EQ(read.worker, 1u);
  EXPECT_EQ(read.message_bytes, 2u);
  EXPECT_EQ(read.group, 3u);
  EXPECT_EQ(read.place, place);
  EXPECT_EQ(read.address, address);
  const std::size_t head = bytes.size() - place.size() - address.size();
  EXPECT_THROW(
      (void)ucx::introduction_of({bytes.begin(), bytes.begin() + std::ptrdiff_t(head) - 1}), Error);
  // A place that is longer than what came.
  EXPECT_THROW(
      (void)ucx::introduction_of({bytes.begin(), bytes.begin() + std::ptrdiff_t(head) + 4}), Error);
  for (std::size_t i = head - 8; i < head; ++i) bytes[i] = std::byte{0xff};
  EXPECT_THROW((void)ucx::introduction_of(bytes), Error);
}

TEST(UcxPath, IsKnownByTheTransportsOfAnEndpoint) {
  using namespace ucx;
  EXPECT_EQ(path_by("tcp"), Path::tcp);
  EXPECT_EQ(path_by("rc_mlx5"), Path::network);
  for (const char* name : {"posix", "cma", "cuda_ipc", "cuda_copy"})
    EXPECT_EQ(path_by(name), Path::memory) << name;
  EXPECT_EQ(device_path_by("posix cma cuda_copy cuda_ipc"), "cuda_ipc");
  EXPECT_EQ(device_path_by("rc_mlx5 cuda_copy"), "gpudirect");
  EXPECT_EQ(device_path_by("tcp cuda_copy"), "cuda_copy");
}

/// An MPI library may bring a UCX of its own, which the process then has.
TEST(UcxVersion, AnotherOneIsSaid) {
  using ucx::version_note;
  EXPECT_EQ(version_note({1, 13, 0}, {1, 13, 1}, {"/lib/libucp.so.0"}), "");
  EXPECT_EQ(version_note({1, 13, 0}, {1, 18, 1}, {"/opt/mpi/lib/libucp.so.0"}),
            "cohom was built with UCX 1.13, and this process has UCX 1.18.1 of "
            "/opt/mpi/lib/libucp.so.0; an MPI library with a UCX of its own loads that one: build "
            "cohom with it, too (PKG_CONFIG_PATH)");
  EXPECT_NE(version_note({1, 13, 0}, {1, 13, 1}, {"/a/libucp.so.0", "/b/libucp.so.0"}), "");
  EXPECT_EQ(ucx::version_note(), "");
  ASSERT_EQ(ucx::loaded_libraries().size(), 1u);
}

}  // namespace
}  // namespace cohom::testing
