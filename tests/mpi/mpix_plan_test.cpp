// The C API: plans, and the state that codecs keep between calls.

#include "mpix_fixture.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

constexpr MPI_Count count = 30000;

class MpixPlan : public MpixTest {
 protected:
  [[nodiscard]] MPIX_Compressed_plan make(const std::string& codec) const {
    const Info info{{"cohom_codec", codec}, {"cohom_algorithm", "ring"}};
    MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
    EXPECT_EQ(MPIX_Compressed_plan_create(count, MPI_FLOAT, MPI_SUM, comm_, info, &plan),
              MPI_SUCCESS);
    return plan;
  }

  /// Numbers that no codec hits exactly.
  [[nodiscard]] std::vector<float> waves(int step) const {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(0.1f * static_cast<float>(i) + static_cast<float>(rank_ + step));
    return values;
  }

  std::vector<float> execute(MPIX_Compressed_plan plan, int step) {
    const auto input = waves(step);
    std::vector<float> output(input.size());
    EXPECT_EQ(MPIX_Compressed_plan_execute(plan, input.data(), output.data()), MPI_SUCCESS);
    return output;
  }
};

TEST_F(MpixPlan, IsExecutedAgainAndAgain) {
  MPIX_Compressed_plan plan = make("raw");
  for (int step = 1; step <= 5; ++step) {
    std::vector<float> data(count, static_cast<float>(step));
    const void* const input = step % 2 == 0 ? MPI_IN_PLACE : data.data();  // both mean in place
    ASSERT_EQ(MPIX_Compressed_plan_execute(plan, input, data.data()), MPI_SUCCESS);
    EXPECT_EQ(data, std::vector<float>(count, static_cast<float>(step * ranks_)));
  }
  EXPECT_EQ(MPIX_Compressed_plan_free(&plan), MPI_SUCCESS);
  EXPECT_EQ(plan, MPIX_COMPRESSED_PLAN_NULL);
}

TEST_F(MpixPlan, IsStartedTestedAndWaitedFor) {
  MPIX_Compressed_plan plan = make("raw");
  int done = 0;
  EXPECT_EQ(MPIX_Compressed_plan_test(plan, &done), MPI_SUCCESS);
  EXPECT_EQ(done, 1) << "nothing is in flight";
  std::vector<float> data(count, 1.0f);
  ASSERT_EQ(MPIX_Compressed_plan_start(plan, MPI_IN_PLACE, data.data()), MPI_SUCCESS);
  for (done = 0; done == 0;) ASSERT_EQ(MPIX_Compressed_plan_test(plan, &done), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Compressed_plan_start(plan, MPI_IN_PLACE, data.data()), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Compressed_plan_wait(plan), MPI_SUCCESS);
  EXPECT_EQ(data, std::vector<float>(count, static_cast<float>(ranks_ * ranks_)));
  MPIX_Compressed_plan_free(&plan);
}

TEST_F(MpixPlan, SeveralAreInFlightTogether) {
  constexpr std::size_t plans = 5;
  std::vector<MPIX_Compressed_plan> plan(plans);
  std::vector<std::vector<float>> data(plans);
  for (auto& one : plan) one = make("raw");
  for (int round = 0; round < 3; ++round) {
    for (std::size_t p = 0; p < plans; ++p) {
      data[p].assign(count, static_cast<float>(p + 1));
      ASSERT_EQ(MPIX_Compressed_plan_start(plan[p], MPI_IN_PLACE, data[p].data()), MPI_SUCCESS);
    }
    for (std::size_t i = 0; i < plans; ++i) {  // each rank begins with another one
      const std::size_t p = (i + std::size_t(rank_)) % plans;
      ASSERT_EQ(MPIX_Compressed_plan_wait(plan[p]), MPI_SUCCESS);
      EXPECT_EQ(data[p], std::vector<float>(count, static_cast<float>((int(p) + 1) * ranks_)));
    }
  }
  for (auto& one : plan) MPIX_Compressed_plan_free(&one);
}

TEST_F(MpixPlan, IsNotStartedTwice) {
  MPIX_Compressed_plan plan = make("raw");
  std::vector<float> data(count, 1.0f), other(count, 1.0f);
  MPI_Barrier(comm_);
  ASSERT_EQ(MPIX_Compressed_plan_start(plan, MPI_IN_PLACE, data.data()), MPI_SUCCESS);
  if (ranks_ > 1)  // alone it may be complete already
    expect_error(MPIX_Compressed_plan_start(plan, MPI_IN_PLACE, other.data()), {"in flight"});
  EXPECT_EQ(MPIX_Compressed_plan_wait(plan), MPI_SUCCESS);
  EXPECT_EQ(data, std::vector<float>(count, static_cast<float>(ranks_)));
  MPIX_Compressed_plan_free(&plan);
}

TEST_F(MpixPlan, TellsAllRanksOfWrongBuffers) {
  MPIX_Compressed_plan plan = make("raw");
  std::vector<float> input(count, 1.0f), output(count, 0.0f);
  const struct {
    const void* sendbuf;
    void* recvbuf;
    const char* words;
  } wrong[] = {{nullptr, output.data(), "input is null"},
               {input.data(), nullptr, "output is null"},
               {input.data(), MPI_IN_PLACE, "recvbuf is MPI_IN_PLACE"},
               {output.data() + 1, output.data(), "overlap"}};
  for (const auto& buffers : wrong) {
    SCOPED_TRACE(buffers.words);
    const void* const sendbuf = last_rank() ? buffers.sendbuf : input.data();
    void* const recvbuf = last_rank() ? buffers.recvbuf : output.data();
    int code = MPI_SUCCESS;
    {
      const WithinASecond limit;
      code = MPIX_Compressed_plan_execute(plan, sendbuf, recvbuf);
    }
    expect_error_on_all_ranks(code, comm_, {buffers.words});
    ASSERT_EQ(MPIX_Compressed_plan_execute(plan, input.data(), output.data()), MPI_SUCCESS);
    EXPECT_EQ(output, std::vector<float>(count, static_cast<float>(ranks_)));
  }
  MPIX_Compressed_plan_free(&plan);
}

TEST_F(MpixPlan, OutlivesItsCommunicator) {
  MPIX_Compressed_plan plan = make("raw");
  MPI_Comm_free(&comm_);
  std::vector<float> data(count, 1.0f);
  EXPECT_EQ(MPIX_Compressed_plan_execute(plan, MPI_IN_PLACE, data.data()), MPI_SUCCESS);
  EXPECT_EQ(data, std::vector<float>(count, static_cast<float>(ranks_)));
  // The communicator whose handler would be called is gone: MPI_COMM_WORLD's is.
  expect_error(MPIX_Compressed_plan_execute(plan, nullptr, data.data()), {"input is null"});
  EXPECT_EQ(MPIX_Compressed_plan_free(&plan), MPI_SUCCESS);
}

TEST_F(MpixPlan, WaitsForItsCallWhenFreed) {
  MPIX_Compressed_plan plan = make("raw");
  std::vector<float> data(count, 1.0f);
  ASSERT_EQ(MPIX_Compressed_plan_start(plan, MPI_IN_PLACE, data.data()), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Compressed_plan_free(&plan), MPI_SUCCESS);
  EXPECT_EQ(data, std::vector<float>(count, static_cast<float>(ranks_)));
}

TEST_F(MpixPlan, GoesBackToASavedState) {
  MPIX_Compressed_plan plan = make("thc:error_feedback=on");
  for (int step = 0; step < 3; ++step) execute(plan, step);

  MPI_Count bytes = 0;
  ASSERT_EQ(MPIX_Compressed_plan_save_state(plan, nullptr, &bytes), MPI_SUCCESS);
  ASSERT_GT(bytes, count * MPI_Count(sizeof(float)));  // what was lost, and a header
  std::vector<std::byte> saved(static_cast<std::size_t>(bytes));
  MPI_Count too_few = bytes - 1;
  expect_error(MPIX_Compressed_plan_save_state(plan, saved.data(), &too_few),
               {"there is room for"});
  EXPECT_EQ(too_few, bytes);
  ASSERT_EQ(MPIX_Compressed_plan_save_state(plan, saved.data(), &bytes), MPI_SUCCESS);

  const auto fourth = execute(plan, 3);
  const auto fifth = execute(plan, 4);
  EXPECT_NE(fourth, execute(plan, 3)) << "the state must matter";
  ASSERT_EQ(MPIX_Compressed_plan_restore_state(plan, saved.data(), bytes), MPI_SUCCESS);
  EXPECT_EQ(fourth, execute(plan, 3));
  EXPECT_EQ(fifth, execute(plan, 4));

  MPIX_Compressed_plan other = make("thc:error_feedback=on");  // as after a restart
  ASSERT_EQ(MPIX_Compressed_plan_restore_state(other, saved.data(), bytes), MPI_SUCCESS);
  EXPECT_EQ(fourth, execute(other, 3));

  ASSERT_EQ(MPIX_Compressed_plan_reset_state(plan), MPI_SUCCESS);
  MPIX_Compressed_plan fresh = make("thc:error_feedback=on");
  EXPECT_EQ(execute(fresh, 0), execute(plan, 0));
  for (auto* handle : {&plan, &other, &fresh}) MPIX_Compressed_plan_free(handle);
}

TEST_F(MpixPlan, RefusesStatesThatAreNone) {
  MPIX_Compressed_plan plan = make("thc:error_feedback=on");
  const std::vector<std::byte> nonsense(100, std::byte{7});
  expect_error(MPIX_Compressed_plan_restore_state(plan, nonsense.data(), 100), {"state"});
  expect_error(MPIX_Compressed_plan_restore_state(plan, nonsense.data(), -1), {"bytes is -1"});
  expect_error(MPIX_Compressed_plan_restore_state(plan, nullptr, 100), {"state is a null pointer"});
  execute(plan, 0);  // as if nothing had happened
  MPIX_Compressed_plan_free(&plan);
}

TEST_F(MpixPlan, BufferStatesLiveOnTheCommunicator) {
  const Info info{{"cohom_codec", "thc:error_feedback=on"},
                  {"cohom_algorithm", "ring"},
                  {"cohom_buffer", "layer 1"}};
  const auto step = [&](int number) {
    const auto input = waves(number);
    std::vector<float> output(input.size());
    EXPECT_EQ(MPIX_Allreduce_compressed(input.data(), output.data(), count, MPI_FLOAT, MPI_SUM,
                                        comm_, info),
              MPI_SUCCESS);
    return output;
  };
  MPI_Count bytes = 0;
  expect_error(MPIX_Compressed_save_state(comm_, "layer 1", nullptr, &bytes), {"layer 1"});
  EXPECT_EQ(MPIX_Compressed_reset_state(comm_, "layer 1"), MPI_SUCCESS);
  const auto first = step(0);
  ASSERT_EQ(MPIX_Compressed_save_state(comm_, "layer 1", nullptr, &bytes), MPI_SUCCESS);
  std::vector<std::byte> saved(static_cast<std::size_t>(bytes));
  ASSERT_EQ(MPIX_Compressed_save_state(comm_, "layer 1", saved.data(), &bytes), MPI_SUCCESS);
  expect_error(MPIX_Compressed_save_state(comm_, "layer 2", nullptr, &bytes), {"layer 2"});
  const auto second = step(1);

  // A program that starts again has a new communicator, and restores before its first call.
  MPI_Comm_free(&comm_);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  ASSERT_EQ(MPIX_Compressed_restore_state(comm_, "layer 1", saved.data(), MPI_Count(saved.size())),
            MPI_SUCCESS);
  EXPECT_EQ(step(1), second);
  ASSERT_EQ(MPIX_Compressed_reset_state(comm_, "layer 1"), MPI_SUCCESS);
  EXPECT_EQ(step(0), first);
}

}  // namespace
}  // namespace cohom::testing
