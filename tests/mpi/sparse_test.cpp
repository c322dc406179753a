// sparse over MPI: raw's bits, and the bytes that theory says.

#include "mpix_fixture.hpp"
#include "sparse_vectors.hpp"

#include <cohom/mpi.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

class SparseOverMpi : public MpixTest {
 protected:
  struct Result {
    std::vector<float> sum;
    std::uint64_t bytes_sent = 0;  ///< by all ranks
  };

  [[nodiscard]] Result reduce(const std::vector<float>& input, const std::string& codec,
                              const std::string& algorithm) const {
    Communicator communicator = mpi::communicator(comm_);
    Result result{.sum = std::vector<float>(input.size())};
    AllreducePlan plan(communicator, input.size(), ElementType::f32,
                       {.codec = codec, .algorithm = algorithm});
    const std::uint64_t before = communicator.wire_counters().bytes_sent;
    plan.execute(input.data(), result.sum.data());
    result.bytes_sent = communicator.wire_counters().bytes_sent - before;
    MPI_Allreduce(MPI_IN_PLACE, &result.bytes_sent, 1, MPI_UINT64_T, MPI_SUM, comm_);
    return result;
  }

  /// Messages of recursive doubling, all ranks together.
  [[nodiscard]] double doublings_of_all() const {
    int members = 1, rounds = 0;
    while (2 * members <= ranks_) members *= 2, ++rounds;
    return members * rounds + 2 * (ranks_ - members);
  }

  [[nodiscard]] std::vector<float> input_of(std::size_t count, double density) const {
    const auto values = test::sparse_values(count, density, std::uint64_t(rank_));
    return {values.begin(), values.end()};
  }
};

TEST_F(SparseOverMpi, GivesRawsBits) {
  for (const std::size_t count : {1, 5003, 300000})
    for (const double density : {0.0, 0.001, 0.05, 0.6, 1.0})
      for (const char* algorithm : {"ring", "direct", "tree", "recursive_doubling"}) {
        const auto input = input_of(count, density);
        const auto raw = reduce(input, "raw", algorithm).sum;
        for (const char* codec : {"sparse", "sparse:index=flat"})
          ASSERT_EQ(reduce(input, codec, algorithm).sum, raw)
              << codec << " " << algorithm << " " << count << " at " << density;
      }
}

/// 2A(1/32 + rho) of the vector, A = (n - 1) / n, for each rank.
TEST_F(SparseOverMpi, SendsIndexAndUnion) {
  constexpr std::size_t count = 1 << 21;
  const double share = 2.0 * (ranks_ - 1) / ranks_;
  for (const double density : {0.001, 0.01, 0.2, 1.0}) {
    const auto input = input_of(count, density);
    const Result flat = reduce(input, "sparse:index=flat", "ring");
    std::size_t positions = 0;  // no value is cancelled by the others' to the bit
    for (const float value : flat.sum) positions += value != 0;
    const double rho = double(positions) / count;
    const double expected = ranks_ * share * (1 / 32.0 + rho) * 4 * count;
    EXPECT_NEAR(double(flat.bytes_sent), expected, 0.02 * expected + 4096.0 * ranks_) << density;
    EXPECT_LE(double(reduce(input, "sparse", "ring").bytes_sent), 1.02 * expected + 4096.0 * ranks_)
        << density;
  }
}

/// 2A(1/32 + gamma rho), twice the second term for integer cells; what is left over and outliers
/// are little.
TEST_F(SparseOverMpi, SketchSendsIndexAndCells) {
  constexpr std::size_t count = 1 << 20;
  const double share = 2.0 * (ranks_ - 1) / ranks_;
  const double outliers = 1.0 / 256 / 32 * doublings_of_all();
  for (const double density : {0.01, 0.2}) {
    const auto input = input_of(count, density);
    const auto raw = reduce(input, "raw", "ring").sum;
    double positions = 0;
    for (const float value : raw) positions += value != 0;
    for (const bool integers : {false, true}) {
      const std::string codec =
          std::string("sketch:index=flat,cells=") + (integers ? "i64" : "f32");
      const double values = (integers ? 2 : 1) * 1.3 * positions / count;
      const double expected = (ranks_ * share * (1 / 32.0 + values) + outliers) * 4 * count;
      EXPECT_NEAR(double(reduce(input, codec, "ring").bytes_sent), expected,
                  0.02 * expected + 8192.0 * ranks_)
          << codec << " at " << density;
    }
    const double fixed = (ranks_ * share * (1 / 32.0 + 0.3) + outliers) * 4 * count;
    if (positions / count < 0.22)
      EXPECT_NEAR(double(reduce(input, "sketch:index=flat,cells=f32,size=0.3", "ring").bytes_sent),
                  fixed, 0.02 * fixed + 8192.0 * ranks_);
  }
}

}  // namespace
}  // namespace cohom::testing
