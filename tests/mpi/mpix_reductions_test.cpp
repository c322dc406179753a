// The C API: reduce_scatter_block, reduce and allgather, their requests and plans.

#include "mpix_fixture.hpp"

#include <cohom/mpix.h>

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

constexpr int part = 3001;  // no multiple of a block

/// Small whole numbers, which raw adds exactly. Element i of a part r is i % 64 + r, times the
/// number of the rank, from 1 on.
class MpixReductions : public MpixTest {
 protected:
  [[nodiscard]] std::vector<float> input() const { return elements(static_cast<float>(rank_) + 1); }
  [[nodiscard]] std::vector<float> sum() const {
    const auto ranks = static_cast<float>(ranks_);
    return elements(ranks * (ranks + 1) / 2);
  }
  [[nodiscard]] std::vector<float> own_part() const {
    const auto all = sum();
    const auto begin = all.begin() + std::ptrdiff_t(rank_) * part;
    return {begin, begin + part};
  }
  [[nodiscard]] bool is_root(int root) const { return rank_ == root; }

  const Info raw_{{"cohom_codec", "raw"}};

 private:
  [[nodiscard]] std::vector<float> elements(float factor) const {
    std::vector<float> all;
    for (int r = 0; r < ranks_; ++r)
      for (int i = 0; i < part; ++i) all.push_back(factor * static_cast<float>(i % 64 + r));
    return all;
  }
};

TEST_F(MpixReductions, PartsOfASum) {
  std::vector<float> from = input(), to(part);
  ASSERT_EQ(MPIX_Reduce_scatter_block_compressed(from.data(), to.data(), part, MPI_FLOAT, MPI_SUM,
                                                 comm_, raw_),
            MPI_SUCCESS);
  EXPECT_EQ(to, own_part());
  ASSERT_EQ(MPIX_Reduce_scatter_block_compressed(MPI_IN_PLACE, from.data(), part, MPI_FLOAT,
                                                 MPI_SUM, comm_, raw_),
            MPI_SUCCESS);
  from.resize(part);
  EXPECT_EQ(from, own_part());
}

TEST_F(MpixReductions, ASumAtAnyRoot) {
  for (int root = 0; root < ranks_; ++root) {
    std::vector<float> from = input(), to(from.size());
    const auto count = static_cast<MPI_Count>(from.size());
    // Elsewhere recvbuf means nothing, whatever it is.
    void* const other = root % 2 == 0 ? nullptr : MPI_IN_PLACE;
    ASSERT_EQ(MPIX_Reduce_compressed(from.data(), is_root(root) ? to.data() : other, count,
                                     MPI_FLOAT, MPI_SUM, root, comm_, raw_),
              MPI_SUCCESS);
    if (is_root(root)) {
      EXPECT_EQ(to, sum());
      to = from;
    }
    ASSERT_EQ(MPIX_Reduce_compressed(is_root(root) ? MPI_IN_PLACE : from.data(), to.data(), count,
                                     MPI_FLOAT, MPI_SUM, root, comm_, raw_),
              MPI_SUCCESS);
    if (is_root(root)) {
      EXPECT_EQ(to, sum());
    }
  }
}

TEST_F(MpixReductions, RequestsOfBoth) {
  const int root = ranks_ - 1;
  const std::vector<float> from = input();
  std::vector<float> own(part), all(from.size());
  MPIX_Compressed_request requests[2];
  ASSERT_EQ(MPIX_Ireduce_scatter_block_compressed(from.data(), own.data(), part, MPI_FLOAT, MPI_SUM,
                                                  comm_, raw_, &requests[0]),
            MPI_SUCCESS);
  ASSERT_EQ(MPIX_Ireduce_compressed(from.data(), is_root(root) ? all.data() : nullptr,
                                    static_cast<MPI_Count>(all.size()), MPI_FLOAT, MPI_SUM, root,
                                    comm_, raw_, &requests[1]),
            MPI_SUCCESS);
  ASSERT_EQ(MPIX_Compressed_waitall(2, requests), MPI_SUCCESS);
  EXPECT_EQ(own, own_part());
  if (is_root(root)) {
    EXPECT_EQ(all, sum());
  }
}

TEST_F(MpixReductions, PlansOfBoth) {
  const int root = ranks_ / 2;
  const std::vector<float> from = input();
  std::vector<float> own(part), all(from.size());
  MPIX_Compressed_plan scatter = MPIX_COMPRESSED_PLAN_NULL, reduce = MPIX_COMPRESSED_PLAN_NULL;
  ASSERT_EQ(MPIX_Compressed_reduce_scatter_block_plan_create(part, MPI_FLOAT, MPI_SUM, comm_, raw_,
                                                             &scatter),
            MPI_SUCCESS);
  ASSERT_EQ(MPIX_Compressed_reduce_plan_create(static_cast<MPI_Count>(all.size()), MPI_FLOAT,
                                               MPI_SUM, root, comm_, raw_, &reduce),
            MPI_SUCCESS);
  for (int call = 0; call < 3; ++call) {
    ASSERT_EQ(MPIX_Compressed_plan_start(scatter, from.data(), own.data()), MPI_SUCCESS);
    ASSERT_EQ(
        MPIX_Compressed_plan_execute(reduce, from.data(), is_root(root) ? all.data() : nullptr),
        MPI_SUCCESS);
    ASSERT_EQ(MPIX_Compressed_plan_wait(scatter), MPI_SUCCESS);
    EXPECT_EQ(own, own_part());
    if (is_root(root)) {
      EXPECT_EQ(all, sum());
    }
  }
  EXPECT_EQ(MPIX_Compressed_plan_free(&scatter), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Compressed_plan_free(&reduce), MPI_SUCCESS);
}

/// Part r is the rank's number, from 1 on, as often as there are elements.
std::vector<float> parts_of(int ranks) {
  std::vector<float> all;
  for (int r = 0; r < ranks; ++r) all.insert(all.end(), part, static_cast<float>(r) + 1);
  return all;
}

TEST_F(MpixReductions, PartsOfAllRanks) {
  const std::vector<float> right = parts_of(ranks_);
  const std::vector<float> own(part, static_cast<float>(rank_) + 1);
  std::vector<float> all(right.size());
  ASSERT_EQ(MPIX_Allgather_compressed(own.data(), part, MPI_FLOAT, all.data(), part, MPI_FLOAT,
                                      comm_, raw_),
            MPI_SUCCESS);
  EXPECT_EQ(all, right);

  const Info packed{
      {"cohom_codec", "packed:bits=8"}, {"cohom_native", "never"}, {"cohom_algorithm", "ring"}};
  ASSERT_EQ(MPIX_Allgather_compressed(own.data(), part, MPI_FLOAT, all.data(), part, MPI_FLOAT,
                                      comm_, packed),
            MPI_SUCCESS);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_NEAR(all[i], right[i], 0.2) << i;

  // In place sendcount and sendtype mean nothing.
  std::ranges::fill(all, -1.0F);
  std::ranges::copy(own, all.begin() + std::ptrdiff_t(rank_) * part);
  MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
  ASSERT_EQ(MPIX_Iallgather_compressed(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all.data(), part,
                                       MPI_FLOAT, comm_, raw_, &request),
            MPI_SUCCESS);
  ASSERT_EQ(MPIX_Compressed_wait(&request), MPI_SUCCESS);
  EXPECT_EQ(all, right);

  MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
  ASSERT_EQ(MPIX_Compressed_allgather_plan_create(part, MPI_FLOAT, comm_, packed, &plan),
            MPI_SUCCESS);
  ASSERT_EQ(MPIX_Compressed_plan_execute(plan, own.data(), all.data()), MPI_SUCCESS);
  const std::vector<float> compressed = all;
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_NEAR(all[i], right[i], 0.2) << i;
  ASSERT_EQ(MPIX_Compressed_plan_reset_state(plan), MPI_SUCCESS);
  std::ranges::copy(own, all.begin() + std::ptrdiff_t(rank_) * part);
  ASSERT_EQ(MPIX_Compressed_plan_execute(plan, MPI_IN_PLACE, all.data()), MPI_SUCCESS);
  EXPECT_EQ(all, compressed);
  EXPECT_EQ(MPIX_Compressed_plan_free(&plan), MPI_SUCCESS);
}

TEST_F(MpixReductions, WrongPartsAreErrorsOnAllRanks) {
  std::vector<float> own(part), all(parts_of(ranks_).size());
  expect_error_on_all_ranks(MPIX_Allgather_compressed(own.data(), rank_ == 0 ? 3 : part, MPI_FLOAT,
                                                      all.data(), part, MPI_FLOAT, comm_, raw_),
                            comm_,
                            {"sendcount and sendtype are 3 elements of f32",
                             "should be 3001 elements of f32, as recvcount and recvtype"});
  expect_error_on_all_ranks(MPIX_Allgather_compressed(own.data(), part, MPI_INT, all.data(), part,
                                                      MPI_FLOAT, comm_, raw_),
                            comm_, {"sendcount and sendtype: ", "MPI_INT"});
  expect_error_on_all_ranks(
      MPIX_Allgather_compressed(own.data(), 4, MPI_FLOAT, MPI_IN_PLACE, 4, MPI_FLOAT, comm_, raw_),
      comm_, {"recvbuf is MPI_IN_PLACE"});
  const Info mean{{"cohom_codec", "raw"}, {"cohom_op", "mean"}};
  expect_error_on_all_ranks(
      MPIX_Allgather_compressed(own.data(), 4, MPI_FLOAT, all.data(), 4, MPI_FLOAT, comm_, mean),
      comm_, {"op is mean, and an allgather adds nothing"});
}

TEST_F(MpixReductions, WrongArgumentsAreErrorsOnAllRanks) {
  const std::vector<float> from = input();
  std::vector<float> to(from.size());
  expect_error_on_all_ranks(
      MPIX_Reduce_compressed(from.data(), to.data(), 4, MPI_FLOAT, MPI_SUM, ranks_, comm_, raw_),
      comm_, {"root is " + std::to_string(ranks_) + "; it should be 0 to"});
  expect_error_on_all_ranks(
      MPIX_Reduce_compressed(from.data(), to.data(), 4, MPI_FLOAT, MPI_MAX, 0, comm_, raw_), comm_,
      {"MPI_SUM"});
  expect_error_on_all_ranks(MPIX_Reduce_scatter_block_compressed(from.data(), MPI_IN_PLACE, 4,
                                                                 MPI_FLOAT, MPI_SUM, comm_, raw_),
                            comm_, {"recvbuf is MPI_IN_PLACE"});
  expect_error_on_all_ranks(MPIX_Reduce_scatter_block_compressed(from.data(), to.data(), -1,
                                                                 MPI_FLOAT, MPI_SUM, comm_, raw_),
                            comm_, {"count is -1"});
  if (ranks_ == 1) return;
  expect_error_on_all_ranks(
      MPIX_Reduce_compressed(is_root(0) ? from.data() : MPI_IN_PLACE, to.data(), 4, MPI_FLOAT,
                             MPI_SUM, 0, comm_, raw_),
      comm_, {"sendbuf is MPI_IN_PLACE on a rank that is not the root"});
  MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
  expect_error_on_all_ranks(MPIX_Compressed_reduce_plan_create(
                                4, MPI_FLOAT, MPI_SUM, rank_ == 0 ? 0 : 1, comm_, raw_, &plan),
                            comm_, {"reduce to rank"});
  EXPECT_EQ(plan, MPIX_COMPRESSED_PLAN_NULL);
}

}  // namespace
}  // namespace cohom::testing
