// Words that ranks decide by are changed on their way: an error, and never a rank that waits for a
// round that the others do without.

#include "altering_transport.hpp"
#include "base/tags.hpp"
#include "nasty_values.hpp"
#include "testing/loopback_transport.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace cohom::test {
namespace {

/// What a call says on each rank when rank 1 alters what it sends, and then a second one; empty: it
/// works.
struct Outcome {
  std::vector<std::string> first, second;
};

Outcome calls(int ranks, const Options& options, const Alter& alter) {
  Outcome outcome{std::vector<std::string>(std::size_t(ranks)),
                  std::vector<std::string>(std::size_t(ranks))};
  LoopbackHub hub(ranks);
  std::atomic<bool> altering = true;
  std::atomic<int> done = 0;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::shared_ptr<Transport> transport = hub.transport(rank);
      if (rank == 1)
        transport = std::make_shared<AlteringTransport>(
            transport, [&](std::vector<std::byte>& bytes, int peer, std::uint32_t tag) {
              return !altering || alter(bytes, peer, tag);
            });
      Communicator communicator(transport);
      const auto call = [&](std::string& error) {
        std::vector<float> data(5000);
        for (std::size_t i = 0; i < data.size(); ++i) data[i] = float(int(i % 17) - 8 + rank);
        try {
          allreduce(std::span(data), communicator, options);
        } catch (const Error& thrown) {
          EXPECT_EQ(thrown.kind(), ErrorKind::transport);
          error = thrown.what();
        }
      };
      call(outcome.first[std::size_t(rank)]);
      ++done;
      while (done < ranks) std::this_thread::yield();
      altering = false;
      call(outcome.second[std::size_t(rank)]);
    });
  threads.clear();
  return outcome;
}

struct Case {
  const char* codec;
  const char* algorithm;
  int ranks;
};

class FallbackRounds : public testing::TestWithParam<Case> {};

/// Rank 1's codes say "escaped" to whoever hears them from it, so ranks see different fallback
/// rounds.
TEST_P(FallbackRounds, AreAgreedOn) {
  const Watchdog watchdog("fallback rounds that ranks disagree on");
  const auto [codec, algorithm, ranks] = GetParam();
  std::atomic<bool> changed = false;
  const Outcome outcome =
      calls(ranks, {.codec = codec, .algorithm = algorithm},
            [&](std::vector<std::byte>& bytes, int, std::uint32_t tag) {
              if (is_agreement_tag(tag) || round_of_tag(tag) != 0 || changed.exchange(true))
                return true;
              std::ranges::fill(bytes, std::byte{0xff});
              return true;
            });
  ASSERT_TRUE(changed);
  for (const std::string& error : outcome.first) {
    EXPECT_EQ(error, outcome.first[0]);
    EXPECT_NE(error.find("ranks disagree on escape (rank "), std::string::npos) << error;
    EXPECT_NE(error.find("changed on their way"), std::string::npos) << error;
  }
  EXPECT_EQ(outcome.second, std::vector<std::string>(std::size_t(ranks)));
}

INSTANTIATE_TEST_SUITE_P(Codecs, FallbackRounds,
                         testing::Values(Case{"thc", "ring", 2}, Case{"thc", "direct", 4},
                                         Case{"marsit", "tree", 4}, Case{"signcount", "ring", 4}),
                         [](const auto& test) {
                           return std::string(test.param.codec) + "_" + test.param.algorithm;
                         });

/// A hop of the agreement itself, whichever word: who hears it says so; others may wait, as for any
/// rank that fails in the middle of a call.
TEST(Agreements, WordsThatWereChangedAreAnError) {
  const Watchdog watchdog("agreements that were changed");
  for (std::size_t byte = 0; byte < 48; byte += 3) {
    std::atomic<bool> changed = false;
    const Outcome outcome = calls(2, {.codec = "raw", .algorithm = "ring", .timeout = 0.05},
                                  [&](std::vector<std::byte>& bytes, int, std::uint32_t tag) {
                                    if (is_agreement_tag(tag) && !changed.exchange(true))
                                      bytes[byte] ^= std::byte{4};
                                    return true;
                                  });
    EXPECT_NE(outcome.first[0].find("words of rank 1 were changed on their way"), std::string::npos)
        << byte << ": " << outcome.first[0];
    EXPECT_NE(outcome.first[1].find("waits for rank 0"), std::string::npos) << outcome.first[1];
    EXPECT_EQ(outcome.second, std::vector<std::string>(2));
  }
}

/// Words with the right checksum: rank 1 says that rank 0 has failed.
TEST(Agreements, AnErrorThatThisRankDoesNotHave) {
  const Watchdog watchdog("an error that nobody has");
  const Outcome outcome = calls(2, {.codec = "raw", .algorithm = "ring", .timeout = 0.05},
                                [](std::vector<std::byte>& bytes, int, std::uint32_t tag) {
                                  if (!is_agreement_tag(tag)) return true;
                                  std::uint64_t words[6];
                                  EXPECT_EQ(bytes.size(), sizeof words);
                                  std::memcpy(words, bytes.data(), sizeof words);
                                  words[1] = 2;
                                  words[0] = XXH3_64bits(words + 1, 5 * sizeof words[0]);
                                  std::memcpy(bytes.data(), words, sizeof words);
                                  return true;
                                });
  EXPECT_NE(outcome.first[0].find("they say that this rank has failed"), std::string::npos)
      << outcome.first[0];
  EXPECT_NE(outcome.first[1].find("waits for rank 0"), std::string::npos) << outcome.first[1];
}

TEST(Agreements, OfAnotherLengthAreOfAnotherVersion) {
  const Watchdog watchdog("agreements of another length");
  const Outcome outcome = calls(2, {.codec = "raw", .algorithm = "ring", .timeout = 0.05},
                                [](std::vector<std::byte>& bytes, int, std::uint32_t tag) {
                                  if (is_agreement_tag(tag)) bytes.resize(208);
                                  return true;
                                });
  EXPECT_NE(outcome.first[0].find("the same version of cohom"), std::string::npos)
      << outcome.first[0];
}

}  // namespace
}  // namespace cohom::test
