// The C API, used as it should be: calls and requests.

#include "mpix_fixture.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

using MpixAllreduce = MpixTest;
using MpixRequest = MpixTest;

template <class T>
std::vector<T> ramp(std::size_t count, double factor) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(factor * double(i % 100));
  return values;
}

TEST_F(MpixAllreduce, SumsFloatsAndDoubles) {
  const Info info{{"cohom_codec", "raw"}};
  for (const MPI_Count count : {0, 1, 255, 257, 5000}) {
    const auto n = static_cast<std::size_t>(count);
    const auto floats = ramp<float>(n, rank_ + 1);
    std::vector<float> float_sum(n, -1.0f);
    ASSERT_EQ(MPIX_Allreduce_compressed(floats.data(), float_sum.data(), count, MPI_FLOAT, MPI_SUM,
                                        comm_, info),
              MPI_SUCCESS);
    EXPECT_EQ(float_sum, ramp<float>(n, sum_of_ones_to_ranks()));
    auto doubles = ramp<double>(n, rank_ + 1);
    ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, doubles.data(), count, MPI_DOUBLE, MPI_SUM,
                                        comm_, info),
              MPI_SUCCESS);
    EXPECT_EQ(doubles, ramp<double>(n, sum_of_ones_to_ranks()));
  }
}

TEST_F(MpixAllreduce, SumsHalves) {
  const Info info{{"cohom_codec", "raw"}};
  // 1.0, of which up to 7 add up without rounding.
  const std::uint16_t f16_sums[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700};
  const std::uint16_t bf16_sums[] = {0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0};
  ASSERT_LE(ranks_, 7);
  std::vector<std::uint16_t> data(321, f16_sums[0]);
  ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 321, MPIX_Float16(), MPI_SUM,
                                      comm_, info),
            MPI_SUCCESS);
  EXPECT_EQ(data, std::vector<std::uint16_t>(321, f16_sums[ranks_ - 1]));
  data.assign(321, bf16_sums[0]);
  ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 321, MPIX_Bfloat16(), MPI_SUM,
                                      comm_, info),
            MPI_SUCCESS);
  EXPECT_EQ(data, std::vector<std::uint16_t>(321, bf16_sums[ranks_ - 1]));
}

TEST_F(MpixAllreduce, WarnsOnceOfAKeyInOtherLetters) {
  const Info info{{"cohom_codec", "raw"}, {"Cohom_Algorithm", "ring"}, {"others", "1"}};
  std::vector<float> data(10, 1.0f);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(
        MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 10, MPI_FLOAT, MPI_SUM, comm_, info),
        MPI_SUCCESS);
  const std::string said = ::testing::internal::GetCapturedStderr();
  if (rank_ != 0) return;  // all would say the same
  const std::string words = "the Info key Cohom_Algorithm is ignored";
  EXPECT_NE(said.find(words), std::string::npos) << said;
  EXPECT_EQ(said.find(words), said.rfind(words)) << said;
  EXPECT_NE(said.find("did you mean cohom_algorithm"), std::string::npos) << said;
}

TEST_F(MpixAllreduce, HasDatatypesForHalves) {
  for (const MPI_Datatype type : {MPIX_Float16(), MPIX_Bfloat16()}) {
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    EXPECT_EQ(bytes, 2);
    std::uint16_t value = static_cast<std::uint16_t>(rank_ + 1);
    EXPECT_EQ(MPI_Bcast(&value, 1, type, 0, comm_), MPI_SUCCESS);  // good for MPI's own calls, too
    EXPECT_EQ(value, 1);
  }
  EXPECT_NE(MPIX_Float16(), MPIX_Bfloat16());
  EXPECT_EQ(MPIX_Float16(), MPIX_Float16());
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Type_get_name(MPIX_Bfloat16(), name, &length);
  EXPECT_STREQ(name, "MPIX_BFLOAT16");
}

TEST_F(MpixAllreduce, TakesFortransFloats) {
  const Info info{{"cohom_codec", "raw"}};
  for (const MPI_Datatype type : {MPI_REAL, MPI_REAL4}) {
    float one = 1;
    ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, &one, 1, type, MPI_SUM, comm_, info),
              MPI_SUCCESS);
    EXPECT_EQ(one, static_cast<float>(ranks_));
  }
  for (const MPI_Datatype type : {MPI_DOUBLE_PRECISION, MPI_REAL8}) {
    double one = 1;
    ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, &one, 1, type, MPI_SUM, comm_, info),
              MPI_SUCCESS);
    EXPECT_EQ(one, ranks_);
  }
}

TEST_F(MpixAllreduce, ComputesTheMean) {
  const Info info{{"cohom_codec", "raw"}, {"cohom_op", "mean"}};
  auto data = ramp<double>(500, ranks_ * (rank_ + 1));
  ASSERT_EQ(
      MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 500, MPI_DOUBLE, MPI_SUM, comm_, info),
      MPI_SUCCESS);
  EXPECT_EQ(data, ramp<double>(500, sum_of_ones_to_ranks()));
}

TEST_F(MpixAllreduce, TakesEveryAlgorithm) {
  for (const char* algorithm : {"ring", "direct", "tree", "recursive_doubling", "fabric", "auto"}) {
    SCOPED_TRACE(algorithm);
    const Info info{
        {"cohom_codec", "raw"}, {"cohom_algorithm", algorithm}, {"cohom_segment", "512"}};
    auto data = ramp<float>(10007, rank_ + 1);
    ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 10007, MPI_FLOAT, MPI_SUM, comm_,
                                        info),
              MPI_SUCCESS);
    EXPECT_EQ(data, ramp<float>(10007, sum_of_ones_to_ranks()));
  }
}

TEST_F(MpixAllreduce, GivesTheSameBitsForEveryAlgorithm) {
  std::vector<float> input(40000), first;
  for (std::size_t i = 0; i < input.size(); ++i)
    input[i] = std::sin(0.37f * static_cast<float>(i) + static_cast<float>(rank_));
  for (const char* algorithm : {"ring", "direct", "tree", "recursive_doubling", "fabric"}) {
    SCOPED_TRACE(algorithm);
    const Info info{{"cohom_codec", "thc"}, {"cohom_algorithm", algorithm}};
    std::vector<float> output(input.size());
    MPI_Comm fresh = MPI_COMM_NULL;  // what is random depends on the number of the call
    MPI_Comm_dup(comm_, &fresh);
    ASSERT_EQ(MPIX_Allreduce_compressed(input.data(), output.data(), 40000, MPI_FLOAT, MPI_SUM,
                                        fresh, info),
              MPI_SUCCESS);
    MPI_Comm_free(&fresh);
    expect_same_on_all_ranks(output.data(), output.size() * sizeof(float), comm_);
    if (first.empty()) first = output;
    EXPECT_EQ(std::memcmp(first.data(), output.data(), output.size() * sizeof(float)), 0);
  }
}

TEST_F(MpixAllreduce, IgnoresKeysOfOthers) {
  const Info info{{"cohom_codec", "raw"}, {"cb_nodes", "1"}, {"codec", "none"}};
  float one = 1;
  EXPECT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, &one, 1, MPI_FLOAT, MPI_SUM, comm_, info),
            MPI_SUCCESS);
  EXPECT_EQ(one, static_cast<float>(ranks_));
}

TEST_F(MpixAllreduce, HasDefaultsForEverything) {
  std::vector<float> data(100000, 1.0f);
  ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 100000, MPI_FLOAT, MPI_SUM, comm_,
                                      MPI_INFO_NULL),
            MPI_SUCCESS);
  const double mean = std::accumulate(data.begin(), data.end(), 0.0) / double(data.size());
  EXPECT_NEAR(mean, ranks_, 0.1 * ranks_);
}

TEST_F(MpixRequest, CompletesByWait) {
  const Info info{{"cohom_codec", "raw"}};
  auto data = ramp<float>(5000, rank_ + 1);
  MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
  ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, data.data(), 5000, MPI_FLOAT, MPI_SUM, comm_,
                                       info, &request),
            MPI_SUCCESS);
  EXPECT_NE(request, MPIX_COMPRESSED_REQUEST_NULL);
  ASSERT_EQ(MPIX_Compressed_wait(&request), MPI_SUCCESS);
  EXPECT_EQ(request, MPIX_COMPRESSED_REQUEST_NULL);
  EXPECT_EQ(data, ramp<float>(5000, sum_of_ones_to_ranks()));
}

TEST_F(MpixRequest, CompletesByTest) {
  const Info info{{"cohom_codec", "raw"}};
  auto data = ramp<float>(5000, rank_ + 1);
  MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
  ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, data.data(), 5000, MPI_FLOAT, MPI_SUM, comm_,
                                       info, &request),
            MPI_SUCCESS);
  for (int done = 0; done == 0;) ASSERT_EQ(MPIX_Compressed_test(&request, &done), MPI_SUCCESS);
  EXPECT_EQ(request, MPIX_COMPRESSED_REQUEST_NULL);
  EXPECT_EQ(data, ramp<float>(5000, sum_of_ones_to_ranks()));
}

TEST_F(MpixRequest, NullIsComplete) {
  MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
  int done = 0;
  EXPECT_EQ(MPIX_Compressed_wait(&request), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Compressed_test(&request, &done), MPI_SUCCESS);
  EXPECT_EQ(done, 1);
}

TEST_F(MpixRequest, OutlivesItsCommunicator) {
  const Info info{{"cohom_codec", "raw"}};
  auto data = ramp<float>(5000, rank_ + 1);
  MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
  ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, data.data(), 5000, MPI_FLOAT, MPI_SUM, comm_,
                                       info, &request),
            MPI_SUCCESS);
  MPI_Comm_free(&comm_);
  ASSERT_EQ(MPIX_Compressed_wait(&request), MPI_SUCCESS);
  EXPECT_EQ(data, ramp<float>(5000, sum_of_ones_to_ranks()));
}

}  // namespace
}  // namespace cohom::testing
