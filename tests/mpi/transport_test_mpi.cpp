// The transport contract over MPI, and what only MPI's transport promises.

#include "tests/transport/transport_contract.hpp"

#include "mpi_ext/transport/mpi_transport.hpp"
#include "mpi_ext/transport/transport_choice.hpp"

#include <cohom/allreduce.hpp>

#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

using namespace std::chrono_literals;
using mpi::MpiTransport;

struct MpiCluster {
  static std::vector<int> rank_counts() {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return {ranks};
  }
  static constexpr bool sends_to_itself = true;
  static void run(int /*ranks*/, const std::function<void(Transport&)>& body) {
    MpiTransport transport(MPI_COMM_WORLD);
    body(transport);
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Mpi, TransportContract, MpiCluster);

/// The ranks, which are on one node, share memory.
struct WindowsCluster : MpiCluster {
  static void run(int ranks, const std::function<void(Transport&)>& body) {
    const auto transport = mpi::make_transport("mpi", MPI_COMM_WORLD);
    EXPECT_EQ(transport->take_memory(1) != nullptr, ranks > 1);
    body(*transport);
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Windows, TransportContract, WindowsCluster);

/// Sets COHOM_MESSAGE_BYTES for a scope.
class MessageBytes {
 public:
  explicit MessageBytes(const std::string& value) { setenv(variable, value.c_str(), 1); }
  ~MessageBytes() {
    if (before_)
      setenv(variable, before_->c_str(), 1);
    else
      unsetenv(variable);
  }
  MessageBytes(const MessageBytes&) = delete;
  MessageBytes& operator=(const MessageBytes&) = delete;

 private:
  static constexpr const char* variable = "COHOM_MESSAGE_BYTES";
  std::optional<std::string> before_ = std::getenv(variable) != nullptr
                                           ? std::optional<std::string>(std::getenv(variable))
                                           : std::nullopt;
};

std::optional<Error> error_of_making_one() {
  try {
    MpiTransport transport(MPI_COMM_WORLD);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_ranks() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

TEST(MpiTransport, TakesItsMessageSizeFromTheEnvironment) {
  const MessageBytes variable("12288");
  EXPECT_EQ(MpiTransport(MPI_COMM_WORLD).preferred_message_bytes(), 12288u);
}

TEST(MpiTransport, RefusesMessageSizesThatAreNone) {
  for (const char* value : {"0", "63", "-8", "8k", "4096.0", "2147483648", "1001", " 64", "x"}) {
    const MessageBytes variable(value);
    const auto error = error_of_making_one();
    ASSERT_TRUE(error) << value;
    EXPECT_EQ(error->kind(), ErrorKind::invalid_argument) << value;
    EXPECT_NE(std::string(error->what()).find("COHOM_MESSAGE_BYTES"), std::string::npos);
    EXPECT_NE(std::string(error->what()).find(value), std::string::npos) << error->what();
  }
  EXPECT_FALSE(error_of_making_one());
}

TEST(MpiTransport, TellsAllRanksOfOneWithAWrongMessageSize) {
  std::optional<Error> error;
  {
    const MessageBytes variable(world_rank() == 0 ? "many" : "4096");
    error = error_of_making_one();
  }
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(std::string(error->what()).find("rank 0: COHOM_MESSAGE_BYTES=many "), 0u)
      << error->what();
  EXPECT_FALSE(error_of_making_one());
}

TEST(MpiTransport, RefusesMessageSizesThatDiffer) {
  if (world_ranks() == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::optional<Error> error;
  {
    const MessageBytes variable(world_rank() == 0 ? "8192" : "4096");
    error = error_of_making_one();
  }
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::mismatch);
  const std::string wanted =
      world_ranks() == 2
          ? "ranks disagree on COHOM_MESSAGE_BYTES (rank 1: \"4096\"; rank 0: \"8192\")"
          : "ranks disagree on COHOM_MESSAGE_BYTES (rank 0: \"8192\"; the other " +
                std::to_string(world_ranks() - 1) + ": \"4096\")";
  EXPECT_EQ(error->what(), wanted);
  EXPECT_FALSE(error_of_making_one());
}

TEST(MpiTransport, RefusesMessagesThatMpiCannotCount) {
  MpiTransport transport(MPI_COMM_WORLD);
  const auto channel = transport.open(0);
  std::byte* const nowhere = nullptr;
  const std::size_t huge = std::size_t(1) << 31;
  EXPECT_THROW(channel->send({nowhere, huge}, 0, 0, 0), Error);
  EXPECT_THROW(channel->receive({nowhere, huge}, 0, 0, 0), Error);
  EXPECT_THROW(channel->send({}, 0, Transport::tag_limit, 0), Error);
  EXPECT_EQ(transport.counters().messages_sent, 0u);
}

TEST(MpiTransport, DoesNotCountMessagesToItself) {
  MpiTransport transport(MPI_COMM_WORLD);
  const auto channel = transport.open(0);
  const auto sent = pattern(1000, 1);
  std::vector<std::byte> received(1000);
  Driver driver(*channel);
  driver.receive(received, transport.rank(), 0);
  driver.send(sent, transport.rank(), 0);
  driver.finish();
  EXPECT_EQ(transport.counters().bytes_sent, 0u);
}

// What an error leaves behind: receives for messages that were never sent.
TEST(MpiTransport, ForgetsReceivesOfADestroyedChannel) {
  MpiTransport transport(MPI_COMM_WORLD);
  std::vector<std::byte> received(100000, std::byte{0x5a});
  for (int round = 0; round < 3; ++round) {
    const auto channel = transport.open(1);
    for (const int peer : peers_of(transport)) channel->receive(received, peer, 0, 0);
    std::vector<Completion> out(8);
    EXPECT_EQ(channel->poll(out), 0u);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (transport.ranks() == 1) return;
  const auto channel = transport.open(1);
  const auto sent = pattern(100000, std::uint64_t(transport.rank()));
  pass_right(transport, *channel, sent, received);
  EXPECT_TRUE(received == pattern(100000, std::uint64_t(left_of(transport))));
}

// A send that no rank receives cannot be taken back. It must neither hang this rank nor be taken
// for a message of a later call; and the other ranks must learn that there will be no later call.
TEST(MpiTransport, RefusesToGoOnAfterAMessageNobodyTook) {
  const auto begin = std::chrono::steady_clock::now();
  const auto sent = pattern(8 << 20, 1);  // outlives the transport, as MPI may still read it
  const auto transport = std::make_shared<MpiTransport>(MPI_COMM_WORLD);
  if (transport->ranks() == 1) return;
  Communicator communicator(transport);
  if (transport->rank() == 0) transport->open(7)->send(sent, 1, 0, 0);
  EXPECT_EQ(transport->failure().has_value(), transport->rank() == 0);
  try {
    std::vector<float> data(100, 1.0f);
    allreduce(std::span(data), communicator);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::transport);
    EXPECT_NE(std::string(error.what()).find("rank 0: an earlier call"), std::string::npos)
        << error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace cohom::testing
