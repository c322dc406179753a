// The UCX transport among processes that MPI joins: the contract, how it is chosen, and that it
// gives the bits that MPI's gives.

#include "mpix_fixture.hpp"
#include "tests/transport/transport_contract.hpp"

#include "mpi_ext/base/mpi_agreement.hpp"
#include "mpi_ext/transport/transport_choice.hpp"
#include "ucx_transport/transport.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>
#include <cohom/ucx.hpp>

#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

ucx::Exchange over_world() {
  return [](std::span<const std::byte> bytes) { return mpi::gather_bytes(MPI_COMM_WORLD, bytes); };
}

struct UcxUnderMpi {
  static std::vector<int> rank_counts() {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return {ranks};
  }
  static constexpr bool sends_to_itself = true;
  static void run(int /*ranks*/, const std::function<void(Transport&)>& body) {
    body(*mpi::make_transport("ucx", MPI_COMM_WORLD));
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(UcxUnderMpi, TransportContract, UcxUnderMpi);

using Ucx = MpixTest;

std::optional<Error> error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// Sets an environment variable for a scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

void expect_words(const std::optional<Error>& error, ErrorKind kind, const std::string& words) {
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), kind) << error->what();
  EXPECT_NE(std::string(error->what()).find(words), std::string::npos) << error->what();
}

TEST_F(Ucx, IsChosenByOptionAndEnvironment) {
  EXPECT_EQ(mpi::communicator(comm_, {.transport = "ucx"}).transport().name(), "ucx");
  EXPECT_EQ(mpi::communicator(comm_, {.transport = "mpi"}).transport().name(), "mpi");
  const Variable variable("COHOM_TRANSPORT", "ucx");
  EXPECT_EQ(mpi::communicator(comm_).transport().name(), "ucx");
  EXPECT_EQ(mpi::communicator(comm_, {.transport = "mpi"}).transport().name(), "mpi");
}

TEST_F(Ucx, IsChosenAlikeOnAllRanks) {
  expect_words(error_of([&] { (void)mpi::communicator(comm_, {.transport = "ucxx"}); }),
               ErrorKind::invalid_argument, "did you mean ucx");
  {
    const Variable variable("COHOM_TRANSPORT", rank_ == ranks_ - 1 ? "tcp" : "ucx");
    expect_words(error_of([&] { (void)mpi::communicator(comm_); }), ErrorKind::invalid_argument,
                 "rank " + std::to_string(ranks_ - 1) + ": transport \"tcp\" is unknown");
  }
  if (ranks_ > 1) {
    const Options options{.transport = rank_ == 0 ? "ucx" : "mpi"};
    expect_words(error_of([&] { (void)mpi::communicator(comm_, options); }), ErrorKind::mismatch,
                 ranks_ == 2 ? "transport (rank 1: \"mpi\"; rank 0: \"ucx\")"
                             : "transport (rank 0: \"ucx\"; the other ");
  }
}

TEST_F(Ucx, TellsAllRanksOfOneWhereItCannotStart) {
  const auto worker = [&] {
    return std::make_shared<ucx::Worker>(
        ucx::ContextSettings{.transports = rank_ == 0 ? "nothing" : ""});
  };
  expect_words(error_of([&] { ucx::UcxTransport(worker, rank_, ranks_, over_world()); }),
               ErrorKind::transport, "rank 0: UCX: ucp_init");
}

TEST_F(Ucx, TellsAllRanksOfWrongMessageSizes) {
  const auto make = [&] { (void)ucx::transport(rank_, ranks_, over_world()); };
  {
    const Variable variable("COHOM_MESSAGE_BYTES", rank_ == 0 ? "many" : "4096");
    expect_words(error_of(make), ErrorKind::invalid_argument, "rank 0: COHOM_MESSAGE_BYTES=many ");
  }
  if (ranks_ > 1) {
    const Variable variable("COHOM_MESSAGE_BYTES", rank_ == 0 ? "8192" : "4096");
    expect_words(error_of(make), ErrorKind::mismatch, "COHOM_MESSAGE_BYTES (rank ");
  }
  const Variable variable("COHOM_MESSAGE_BYTES", "12288");
  EXPECT_EQ(ucx::transport(rank_, ranks_, over_world())->preferred_message_bytes(), 12288u);
}

TEST_F(Ucx, IsAKeyOfTheFirstCall) {
  std::vector<float> data(1000, 1.0f);
  const auto call = [&](const Info& info) {
    return MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 1000, MPI_FLOAT, MPI_SUM, comm_,
                                     info);
  };
  EXPECT_EQ(call(Info{{"cohom_codec", "raw"}, {"cohom_transport", "ucx"}}), MPI_SUCCESS);
  EXPECT_EQ(mpi::cached_communicator(comm_).transport().name(), "ucx");
  EXPECT_EQ(call(Info{{"cohom_codec", "raw"}}), MPI_SUCCESS);
  expect_error_on_all_ranks(call(Info{{"cohom_transport", "mpi"}}), comm_,
                            {"transport \"mpi\" is not this communicator's, which is ucx"});
  EXPECT_EQ(call(Info{{"cohom_transport", "ucx"}, {"cohom_codec", "raw"}}), MPI_SUCCESS);
  EXPECT_EQ(data[0], static_cast<float>(ranks_ * ranks_ * ranks_));
}

TEST_F(Ucx, GivesTheBitsOfMpi) {
  Communicator over_ucx = mpi::communicator(comm_, {.transport = "ucx"});
  Communicator over_mpi = mpi::communicator(comm_, {.transport = "mpi"});
  for (const std::size_t count : {0, 1, 1000, 300001}) {
    std::vector<float> input(count);
    for (std::size_t i = 0; i < count; ++i)
      input[i] = static_cast<float>((i * 2654435761u + 97u * unsigned(rank_)) % 2001) - 1000.0f;
    for (const char* codec : {"raw", "thc", "packed", "sparse", "sketch", "signcount", "marsit"})
      for (const char* algorithm : {"ring", "direct", "tree", "recursive_doubling"}) {
        std::vector<float> by_ucx(count), by_mpi(count);
        allreduce(input, by_ucx, over_ucx, {.codec = codec, .algorithm = algorithm});
        allreduce(input, by_mpi, over_mpi, {.codec = codec, .algorithm = algorithm});
        EXPECT_EQ(std::memcmp(by_ucx.data(), by_mpi.data(), count * sizeof(float)), 0)
            << codec << " " << algorithm << " " << count;
      }
  }
}

// Both share one worker and its connections.
TEST_F(Ucx, KeepsCommunicatorsApart) {
  MPI_Comm backwards = MPI_COMM_NULL;
  MPI_Comm_split(comm_, 0, -rank_, &backwards);
  {
    Communicator one = mpi::communicator(comm_, {.transport = "ucx"});
    Communicator other = mpi::communicator(backwards, {.transport = "ucx"});
    std::vector<float> a(100000, 1.0f), b(100000, 2.0f);
    const Options options{.codec = "raw", .algorithm = "ring"};
    std::vector<Request> requests;
    for (int i = 0; i < 4; ++i) {
      Communicator& first = rank_ % 2 == 0 ? one : other;
      Communicator& second = rank_ % 2 == 0 ? other : one;
      std::vector<float>& first_data = rank_ % 2 == 0 ? a : b;
      std::vector<float>& second_data = rank_ % 2 == 0 ? b : a;
      requests.clear();
      requests.push_back(allreduce_start(first_data.data(), first_data.data(), first_data.size(),
                                         ElementType::f32, first, options));
      requests.push_back(allreduce_start(second_data.data(), second_data.data(), second_data.size(),
                                         ElementType::f32, second, options));
      for (Request& request : requests) request.wait();
    }
    const float factor = static_cast<float>(ranks_ * ranks_) * static_cast<float>(ranks_ * ranks_);
    EXPECT_EQ(a, std::vector<float>(100000, factor));
    EXPECT_EQ(b, std::vector<float>(100000, 2 * factor));
  }
  MPI_Comm_free(&backwards);
}

TEST(UcxInformation, NamesVersionAndResources) {
  EXPECT_NE(ucx::version().find('.'), std::string::npos);
  bool self = false;
  for (const ucx::Resource& resource : ucx::resources()) self |= resource.transport == "self";
  EXPECT_TRUE(self);
}

}  // namespace
}  // namespace cohom::testing
