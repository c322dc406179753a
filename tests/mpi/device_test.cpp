// The C API with buffers on the (emulated) device, over MPI, which does not reach it: words are
// staged.

#include "device_vector.hpp"
#include "mpix_fixture.hpp"
#include "same_bytes.hpp"

#include <cohom/mpi.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

using test::Bytes;
using test::DeviceVector;
using test::same_bytes;

constexpr std::size_t count = 200003;

class DeviceOverMpi : public MpixTest {
 protected:
  DeviceOverMpi()
      : input_(test::to_bytes(ElementType::f32,
                              test::normal_values(count, 7 + std::uint64_t(rank_)))) {}

  [[nodiscard]] Bytes on_host(const Info& info) const {
    Bytes output(input_.size());
    EXPECT_EQ(MPIX_Allreduce_compressed(input_.data(), output.data(), count, MPI_FLOAT, MPI_SUM,
                                        comm_, info),
              MPI_SUCCESS);
    return output;
  }

  test::WithDevice device_;
  Bytes input_;
};

TEST_F(DeviceOverMpi, CallsHaveTheHostsBits) {
  // Those whose sums do not depend on the number of the call.
  for (const char* codec : {"raw", "sparse", "sketch", "packed:bits=8,budget=max,dither=nearest"})
    for (const char* algorithm : {"ring", "direct", "tree", "recursive_doubling"}) {
      SCOPED_TRACE(std::string(codec) + " " + algorithm);
      const Info info{{"cohom_codec", codec}, {"cohom_algorithm", algorithm}};
      const Bytes expected = on_host(info);
      const DeviceVector input(input_), output(input_.size()), in_place(input_);
      ASSERT_EQ(MPIX_Allreduce_compressed(input.data(), output.data(), count, MPI_FLOAT, MPI_SUM,
                                          comm_, info),
                MPI_SUCCESS);
      EXPECT_TRUE(same_bytes(output.fetch(), expected));
      ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, in_place.data(), count, MPI_FLOAT, MPI_SUM,
                                          comm_, info),
                MPI_SUCCESS);
      EXPECT_TRUE(same_bytes(in_place.fetch(), expected)) << "in place";
    }
}

TEST_F(DeviceOverMpi, PlansHaveTheHostsBits) {
  for (const char* codec : {"thc:error_feedback=on", "thc:levels=full", "sparse+thc", "signcount",
                            "marsit:compensation=on,period=2", "packed:error_feedback=on"})
    for (const char* algorithm : {"ring", "direct", "tree", "recursive_doubling"}) {
      const Info info{{"cohom_codec", codec}, {"cohom_algorithm", algorithm}};
      MPIX_Compressed_plan here = nullptr, there = nullptr;
      for (MPIX_Compressed_plan* plan : {&here, &there})
        ASSERT_EQ(MPIX_Compressed_plan_create(count, MPI_FLOAT, MPI_SUM, comm_, info, plan),
                  MPI_SUCCESS);
      const DeviceVector input(input_), output(input_.size());
      Bytes expected(input_.size());
      for (int call = 0; call < 3; ++call) {
        ASSERT_EQ(MPIX_Compressed_plan_execute(here, input_.data(), expected.data()), MPI_SUCCESS);
        ASSERT_EQ(MPIX_Compressed_plan_execute(there, input.data(), output.data()), MPI_SUCCESS);
        EXPECT_TRUE(same_bytes(output.fetch(), expected)) << codec << " call " << call;
      }
      for (MPIX_Compressed_plan* plan : {&here, &there}) MPIX_Compressed_plan_free(plan);
    }
}

TEST_F(DeviceOverMpi, RequestsHaveTheHostsBits) {
  const Info info{{"cohom_codec", "raw"}, {"cohom_algorithm", "ring"}};
  const Bytes expected = on_host(info);
  const DeviceVector input(input_), first(input_.size()), second(input_.size());
  MPIX_Compressed_request requests[2];
  ASSERT_EQ(MPIX_Iallreduce_compressed(input.data(), first.data(), count, MPI_FLOAT, MPI_SUM, comm_,
                                       info, &requests[0]),
            MPI_SUCCESS);
  ASSERT_EQ(MPIX_Iallreduce_compressed(input.data(), second.data(), count, MPI_FLOAT, MPI_SUM,
                                       comm_, info, &requests[1]),
            MPI_SUCCESS);
  int flag = 0;
  while (flag == 0) ASSERT_EQ(MPIX_Compressed_test(&requests[1], &flag), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Compressed_wait(&requests[0]), MPI_SUCCESS);
  EXPECT_TRUE(same_bytes(first.fetch(), expected));
  EXPECT_TRUE(same_bytes(second.fetch(), expected));
}

TEST_F(DeviceOverMpi, OtherReductionsHaveTheHostsBits) {
  const std::size_t part = count / std::size_t(ranks_);  // no multiple of a block
  const int root = ranks_ - 1;
  for (const char* codec : {"raw", "exact", "sparse"}) {
    SCOPED_TRACE(codec);
    const Info info{{"cohom_codec", codec}, {"cohom_algorithm", "ring"}};
    Bytes own(4 * part), sum(input_.size());
    const DeviceVector input(input_), own_there(own.size()), sum_there(sum.size());
    ASSERT_EQ(MPIX_Reduce_scatter_block_compressed(input_.data(), own.data(), MPI_Count(part),
                                                   MPI_FLOAT, MPI_SUM, comm_, info),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_Reduce_scatter_block_compressed(input.data(), own_there.data(), MPI_Count(part),
                                                   MPI_FLOAT, MPI_SUM, comm_, info),
              MPI_SUCCESS);
    EXPECT_TRUE(same_bytes(own_there.fetch(), own));
    ASSERT_EQ(MPIX_Reduce_compressed(input_.data(), last_rank() ? sum.data() : nullptr, count,
                                     MPI_FLOAT, MPI_SUM, root, comm_, info),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_Reduce_compressed(input.data(), last_rank() ? sum_there.data() : nullptr, count,
                                     MPI_FLOAT, MPI_SUM, root, comm_, info),
              MPI_SUCCESS);
    if (last_rank()) {
      EXPECT_TRUE(same_bytes(sum_there.fetch(), sum));
    }
  }
}

TEST_F(DeviceOverMpi, WordsAreStaged) {
  Communicator communicator = mpi::communicator(comm_);
  AllreducePlan plan(communicator, count, ElementType::f32,
                     {.codec = "raw", .algorithm = "ring", .transport = "mpi"});
  const DeviceVector data(input_);
  plan.execute(data.data(), data.data());
  EXPECT_EQ(plan.describe().memory, "cuda");
  EXPECT_EQ(plan.describe().path, "staged");
}

TEST_F(DeviceOverMpi, AnErrorIsOnAllRanks) {
  if (test::tested_runtime().devices() < 2) GTEST_SKIP() << "one device";
  const DeviceVector input(input_, 0), output(input_.size(), last_rank() ? 1 : 0);
  const int code = MPIX_Allreduce_compressed(input.data(), output.data(), count, MPI_FLOAT, MPI_SUM,
                                             comm_, MPI_INFO_NULL);
  expect_error_on_all_ranks(code, comm_, {"input lies on device 0 and output on device 1"});
  expect_good_call(comm_);
}

}  // namespace
}  // namespace cohom::testing
