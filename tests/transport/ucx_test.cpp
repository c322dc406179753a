// The transport contract over UCX, path by path.

#include "tests/transport/transport_contract.hpp"
#include "tests/transport/ucx_cluster.hpp"

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

}  // namespace
}  // namespace cohom::testing
