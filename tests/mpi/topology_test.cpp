// What the ranks of MPI communicators know of where they are.

#include "mpix_fixture.hpp"

#include <cohom/error.hpp>
#include <cohom/mpi.hpp>
#include <cohom/topology.hpp>

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

class TopologyOverMpi : public MpixTest {
 protected:
  TopologyOverMpi() { unsetenv("COHOM_TOPOLOGY"); }
  ~TopologyOverMpi() override { unsetenv("COHOM_TOPOLOGY"); }

  /// All ranks of the job, as in "nodes=1,4": a first node of one rank, and the others.
  [[nodiscard]] std::string first_alone() const {
    return ranks_ == 1 ? "nodes=1" : "nodes=1," + std::to_string(ranks_ - 1);
  }
};

std::string error_of(ErrorKind kind, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

// mpirun starts all of them here.
TEST_F(TopologyOverMpi, IsOneNode) {
  const Communicator communicator = mpi::communicator(comm_);
  const Topology& topology = communicator.topology();
  EXPECT_EQ(topology.nodes.of_rank, std::vector<std::uint32_t>(std::size_t(ranks_), 0));
  EXPECT_EQ(topology.nodes.count, 1u);
  ASSERT_FALSE(topology.cores.empty());
  for (const UsableCore& core : topology.cores) EXPECT_FALSE(core.threads.empty());
}

/// Binds all threads of this process, those of MPI among them, to one hardware thread each time.
class Binding {
 public:
  explicit Binding(std::size_t cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_getaffinity(0, sizeof before_, &before_);
    bind(one);
  }
  ~Binding() { bind(before_); }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

 private:
  static void bind(const cpu_set_t& cpus) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
      sched_setaffinity(std::stoi(task.path().filename().string()), sizeof cpus, &cpus);
  }

  cpu_set_t before_{};
};

// By the binding of each, which MPI's own gather tells here: rank r is bound to a core by its
// number, in turn.
TEST_F(TopologyOverMpi, KnowsTheCoresThatAreARanksAlone) {
  std::vector<UsableCore> usable;
  {
    const Communicator unbound = mpi::communicator(comm_);
    usable = unbound.topology().cores;
  }
  const UsableCore& chosen = usable[std::size_t(rank_) % usable.size()];
  const Binding binding(chosen.threads[0]);
  const Communicator communicator = mpi::communicator(comm_);
  ASSERT_EQ(communicator.topology().cores.size(), 1u);
  EXPECT_EQ(communicator.topology().cores[0].number, chosen.number);
  constexpr std::size_t cores = 256;
  std::vector<int> own(cores), all(cores);
  for (const UsableCore& core : communicator.topology().cores)
    if (core.number < cores) own[core.number] = 1;
  MPI_Allreduce(own.data(), all.data(), int(cores), MPI_INT, MPI_SUM, comm_);
  for (const UsableCore& core : communicator.topology().cores)
    if (core.number < cores) {
      EXPECT_EQ(core.alone, all[core.number] == 1) << core.number;
    }
}

TEST_F(TopologyOverMpi, IsAsGiven) {
  setenv("COHOM_TOPOLOGY", first_alone().c_str(), 1);
  const Communicator communicator = mpi::communicator(comm_);
  const RankGroups& nodes = communicator.topology().nodes;
  EXPECT_EQ(nodes.count, ranks_ == 1 ? 1u : 2u);
  for (int r = 0; r < ranks_; ++r) EXPECT_EQ(nodes.of_rank[std::size_t(r)], r == 0 ? 0u : 1u);
  EXPECT_FALSE(communicator.topology().switches.known());
}

// Backwards, so that the job's rank 0 is the last one.
TEST_F(TopologyOverMpi, IsGivenForTheRanksOfTheJob) {
  setenv("COHOM_TOPOLOGY", (first_alone() + ":switches=" + (ranks_ == 1 ? "1" : "2")).c_str(), 1);
  MPI_Comm backwards = MPI_COMM_NULL;
  MPI_Comm_split(comm_, 0, -rank_, &backwards);
  {
    const Communicator communicator = mpi::communicator(backwards);
    const Topology& topology = communicator.topology();
    for (int r = 0; r < ranks_; ++r)
      EXPECT_EQ(topology.nodes.of_rank[std::size_t(r)], r == ranks_ - 1 && r > 0 ? 1u : 0u);
    EXPECT_EQ(topology.switches.count, 1u);
  }
  MPI_Comm_free(&backwards);
}

TEST_F(TopologyOverMpi, IsRefusedOnAllRanksWhereOneGivesItWrongly) {
  if (rank_ == ranks_ - 1) setenv("COHOM_TOPOLOGY", "nodes=many", 1);
  const std::string why =
      error_of(ErrorKind::invalid_argument, [&] { (void)mpi::communicator(comm_); });
  EXPECT_NE(why.find("rank " + std::to_string(ranks_ - 1) + ": COHOM_TOPOLOGY=nodes=many"),
            std::string::npos)
      << why;
}

TEST_F(TopologyOverMpi, IsRefusedForAnotherNumberOfRanks) {
  setenv("COHOM_TOPOLOGY", ("nodes=" + std::to_string(ranks_ + 1)).c_str(), 1);
  const std::string why =
      error_of(ErrorKind::invalid_argument, [&] { (void)mpi::communicator(comm_); });
  EXPECT_NE(why.find(", and this job has " + std::to_string(ranks_)), std::string::npos) << why;
}

TEST_F(TopologyOverMpi, IsRefusedWhereRanksGiveDifferentOnes) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank agrees with itself";
  const std::string all = "nodes=" + std::to_string(ranks_);
  setenv("COHOM_TOPOLOGY", (rank_ == 1 ? first_alone() : all).c_str(), 1);
  const std::string why = error_of(ErrorKind::mismatch, [&] { (void)mpi::communicator(comm_); });
  EXPECT_TRUE(why.starts_with("ranks disagree on COHOM_TOPOLOGY (rank 1: ")) << why;
  unsetenv("COHOM_TOPOLOGY");
  expect_good_call(comm_);
}

}  // namespace
}  // namespace cohom::testing
