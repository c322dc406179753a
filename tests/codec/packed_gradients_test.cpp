// packed on the captured gradients: its budget holds, and it errs less than formats that encode
// again.

#include "npy.hpp"
#include "packed_vectors.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <string>

namespace cohom::test {
namespace {

struct Gradients {
  std::string file;
  int ranks;            ///< 8 take every row twice
  double dynamiq_ring;  ///< vNMSE of the DynamiQ-like ring with 5 bits (docs/quality.md)
};

void PrintTo(const Gradients& gradients, std::ostream* out) { *out << gradients.file; }

class PackedGradients : public testing::TestWithParam<Gradients> {
 protected:
  static Vectors rows() {
    const auto array = bench::read_array(std::string(COHOM_DATA) + "/" + GetParam().file);
    Vectors vectors;
    for (int rank = 0; rank < GetParam().ranks; ++rank)
      vectors.push_back(array.row(std::size_t(rank) % array.rows));
    return vectors;
  }

  /// All in, by direct: contributions and sums, and the agreement, a hop for every doubling of the
  /// ranks.
  static double bits_of(const CodecHarness& harness, std::size_t count) {
    const int ranks = GetParam().ranks, payload = harness.codec(0).payload_round();
    double agreed = 26;  // on the call itself
    for (int round = 0; round < payload; ++round) agreed += double(harness.sum(round).size());
    const double hops = std::bit_width(unsigned(ranks) - 1);
    return (mean_of(bits_of_ranks(harness, ranks, count)) +
            64 * double(harness.sum(payload).size()) / double(count)) /
               2 +
           32 * agreed * hops * ranks / (ranks - 1) / double(count);
  }
};

TEST_P(PackedGradients, MeetTheBudgetWithAFractionOfTheError) {
  const Vectors vectors = rows();
  const std::size_t count = vectors[0].size();
  CodecHarness harness = harness_of(GetParam().ranks, {{"bits", "5"}});
  const auto sum = harness.allreduce(vectors);
  std::vector<double> exact(count);
  for (const auto& vector : vectors)
    for (std::size_t i = 0; i < count; ++i) exact[i] += vector[i];
  EXPECT_NEAR(bits_of(harness, count), 5, 0.1);
  const double error = vnmse(exact, sum);
  EXPECT_LT(error, 0.6 * GetParam().dynamiq_ring);
  EXPECT_GT(error, 0.01 * GetParam().dynamiq_ring) << "a budget of 5 bits allows no such result";
}

INSTANTIATE_TEST_SUITE_P(Files, PackedGradients,
                         testing::Values(Gradients{"transformer_step20.npy", 4, 3.4e-3},
                                         Gradients{"transformer_step20.npy", 8, 4.8e-3},
                                         Gradients{"transformer_step500.npy", 4, 1.3e-2},
                                         Gradients{"transformer_step500.npy", 8, 1.8e-2},
                                         Gradients{"lstm_dense_step20.npy", 4, 5.0e-4},
                                         Gradients{"lstm_dense_step20.npy", 8, 5.8e-4},
                                         Gradients{"lstm_dense_step300.npy", 4, 4.1e-3},
                                         Gradients{"lstm_dense_step300.npy", 8, 4.5e-3}));

}  // namespace
}  // namespace cohom::test
