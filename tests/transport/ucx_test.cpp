// The transport contract over UCX, path by path.

#include "tests/transport/transport_contract.hpp"
#include "tests/transport/ucx_cluster.hpp"
#include "ucx_transport/loaded_library.hpp"
#include "ucx_transport/path.hpp"

#include <cohom/topology.hpp>

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
