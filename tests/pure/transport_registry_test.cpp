// Which transport a name asks for, and what is said of names that are none.

#include "transport/registry.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

std::shared_ptr<Transport> join_nobody(int, int, const Exchange&, const JobRank&) {
  return nullptr;
}

const std::vector<BuiltTransport> without_ucx = {{.name = "mpi"}};
const std::vector<BuiltTransport> all = {{.name = "ucx", .join = join_nobody}, {.name = "mpi"}};

std::string error_of(ErrorKind kind, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

class TransportRegistry : public ::testing::Test {
 protected:
  TransportRegistry() { unsetenv("COHOM_TRANSPORT"); }
  ~TransportRegistry() override { unsetenv("COHOM_TRANSPORT"); }
};

// Ranks tell each other these numbers.
TEST_F(TransportRegistry, NumbersStay) {
  EXPECT_EQ(number_of_transport("mpi", all), 0u);
  EXPECT_EQ(number_of_transport("ucx", all), 1u);
}

TEST_F(TransportRegistry, TakesTheEnvironmentWhereNothingIsNamed) {
  EXPECT_EQ(number_of_transport("", all), 0u);
  setenv("COHOM_TRANSPORT", "ucx", 1);
  EXPECT_EQ(number_of_transport("", all), 1u);
  EXPECT_EQ(number_of_transport("mpi", all), 0u);
}

TEST_F(TransportRegistry, FindsWhatIsBuilt) {
  EXPECT_EQ(find_transport(1, all).join, join_nobody);
  EXPECT_EQ(find_transport(0, all).join, nullptr);
}

TEST_F(TransportRegistry, RefusesUnknownNames) {
  const auto ask = [](const char* name) {
    return error_of(ErrorKind::invalid_argument, [&] { number_of_transport(name, without_ucx); });
  };
  EXPECT_TRUE(ask("ufx").starts_with(
      "transport \"ufx\" is unknown; did you mean ucx; transports: mpi, ucx"));
  EXPECT_TRUE(ask("tcp").starts_with("transport \"tcp\" is unknown; transports: mpi, ucx"));
  EXPECT_TRUE(ask("carrier_pigeon")
                  .starts_with("transport \"carrier_pigeon\" is unknown; transports: mpi, ucx"));
}

TEST_F(TransportRegistry, RefusesWhatIsNotBuilt) {
  EXPECT_EQ(error_of(ErrorKind::unsupported, [] { number_of_transport("ucx", without_ucx); }),
            "transport \"ucx\": this library was built without UCX; transports: mpi");
}

TEST_F(TransportRegistry, SaysWhoAsksForAnotherOne) {
  expect_same_transport(std::vector<std::uint64_t>{1, 1, 1});
  EXPECT_EQ(error_of(ErrorKind::mismatch,
                     [] {
                       expect_same_transport(std::vector<std::uint64_t>{1, 0, 0});
                     }),
            "ranks disagree on transport (rank 0: \"ucx\"; the other 2: \"mpi\")");
  EXPECT_EQ(error_of(ErrorKind::mismatch,
                     [] {
                       expect_same_transport(std::vector<std::uint64_t>{0, 99, 0});
                     }),
            "ranks disagree on transport (rank 1: \"of another version of cohom\"; the other 2: "
            "\"mpi\")");
}

}  // namespace
}  // namespace cohom::test
