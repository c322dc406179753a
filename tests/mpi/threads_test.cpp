// MPI_THREAD_MULTIPLE: threads that each use a communicator of their own, at the same time. Needs
// --threads; without it the program has one thread, and that is tested everywhere else.

#include "mpix_fixture.hpp"

#include <cstdint>
#include <thread>
#include <vector>

namespace cohom::testing {
namespace {

class Threads : public MpixTest {
 protected:
  static constexpr int threads = 4;

  void SetUp() override {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "MPI gives no MPI_THREAD_MULTIPLE";
    for (int t = 0; t < threads; ++t) {
      MPI_Comm_dup(comm_, &comms_.emplace_back(MPI_COMM_NULL));
      MPI_Comm_set_errhandler(comms_.back(), MPI_ERRORS_RETURN);
    }
  }

  void TearDown() override {
    for (auto& comm : comms_) MPI_Comm_free(&comm);
  }

  /// Calls body(communicator, thread) on every thread.
  template <class Body>
  void on_all_threads(Body&& body) {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t)
      running.emplace_back([this, t, &body] { body(comms_[std::size_t(t)], t); });
  }

  std::vector<MPI_Comm> comms_;
};

TEST_F(Threads, EachUseACommunicator) {
  on_all_threads([this](MPI_Comm comm, int thread) {
    const Info info{{"cohom_codec", thread % 2 == 0 ? "raw" : "thc:dither=nearest"}};
    for (int step = 0; step < 20; ++step) {
      std::vector<float> data(30000, static_cast<float>(thread));
      ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 30000, MPI_FLOAT, MPI_SUM,
                                          comm, info),
                MPI_SUCCESS);
      if (thread % 2 == 0)
        EXPECT_EQ(data, std::vector<float>(30000, static_cast<float>(thread * ranks_)));
      else
        expect_same_on_all_ranks(data.data(), data.size() * sizeof(float), comm);
    }
  });
}

TEST_F(Threads, EachMakeAndFreeCommunicators) {
  on_all_threads([](MPI_Comm comm, int) {
    for (int i = 0; i < 10; ++i) {
      MPI_Comm copy = MPI_COMM_NULL;
      MPI_Comm_dup(comm, &copy);
      expect_good_call(copy);
      MPI_Comm_free(&copy);
    }
  });
}

TEST_F(Threads, EachKeepCallsInFlight) {
  on_all_threads([this](MPI_Comm comm, int thread) {
    const Info info{{"cohom_codec", "raw"}};
    std::vector<std::vector<float>> data(8, std::vector<float>(5000, static_cast<float>(thread)));
    std::vector<MPIX_Compressed_request> requests(data.size());
    for (std::size_t c = 0; c < data.size(); ++c)
      ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, data[c].data(), 5000, MPI_FLOAT, MPI_SUM,
                                           comm, info, &requests[c]),
                MPI_SUCCESS);
    for (std::size_t c = data.size(); c-- > 0;) {
      ASSERT_EQ(MPIX_Compressed_wait(&requests[c]), MPI_SUCCESS);
      EXPECT_EQ(data[c], std::vector<float>(5000, static_cast<float>(thread * ranks_)));
    }
  });
}

TEST_F(Threads, EachHaveTheirErrors) {
  on_all_threads([](MPI_Comm comm, int) {
    for (int i = 0; i < 10; ++i) {
      float one = 1;
      EXPECT_NE(
          MPIX_Allreduce_compressed(MPI_IN_PLACE, &one, 1, MPI_FLOAT, MPI_MAX, comm, MPI_INFO_NULL),
          MPI_SUCCESS);
      expect_good_call(comm);
    }
  });
}

/// A rank that blocks in MPI after the start of a call: progress=thread goes on with it.
TEST_F(Threads, OneOfTheLibraryAdvancesCalls) {
  const Info info{{"cohom_codec", "exact"}, {"cohom_progress", last_rank() ? "thread" : "call"}};
  for (int step = 1; step <= 5; ++step) {
    std::vector<float> data(100'000, static_cast<float>(step));
    MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
    ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, data.data(), 100'000, MPI_FLOAT, MPI_SUM,
                                         comm_, info, &request),
              MPI_SUCCESS);
    if (last_rank()) MPI_Barrier(comms_[0]);
    ASSERT_EQ(MPIX_Compressed_wait(&request), MPI_SUCCESS);
    if (!last_rank()) MPI_Barrier(comms_[0]);
    EXPECT_EQ(data, std::vector<float>(100'000, static_cast<float>(step * ranks_)));
  }
}

TEST_F(Threads, MakeTheHalvesOnce) {
  std::vector<MPI_Datatype> types(threads);
  on_all_threads([&types](MPI_Comm, int thread) { types[std::size_t(thread)] = MPIX_Float16(); });
  for (const MPI_Datatype type : types) EXPECT_EQ(type, types[0]);
}

}  // namespace
}  // namespace cohom::testing
