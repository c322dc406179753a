// What the control channel takes of those who may be anybody: shares of connections, time, bytes,
// lines.

#include "aggregation/server/source_records.hpp"
#include "control_caller.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cohom::offload {
namespace {

using namespace std::chrono_literals;

TEST(ControlLimits, IdleConnectionsMakeWay) {
  Switch one(plane(), {.connections = 64, .handshake = 30s});
  std::vector<std::unique_ptr<Caller>> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(std::make_unique<Caller>(one.port()));
  EXPECT_LT(seconds_of([&] { static_cast<void>(one.status()); }), 2.0);
  const auto status = one.status();
  // An eighth of 64 for one address, and the one that asks.
  EXPECT_LE(status["connections"], 9);
  EXPECT_GE(status["thrown_out"], 190);
}

TEST(ControlLimits, AHandshakeHasItsTime) {
  Switch one(plane(), {.handshake = 200ms});
  Caller idle(one.port()), half(one.port());
  half.send(Begin{.nonce = random_nonce()});
  ASSERT_TRUE(half.expect<Challenge>());
  EXPECT_LT(seconds_of([&] { EXPECT_FALSE(idle.next()); }), 2.0);
  EXPECT_LT(seconds_of([&] { EXPECT_FALSE(half.next()); }), 2.0);
}

TEST(ControlLimits, AnAddressHasAShare) {
  Switch one(plane(), {.connections = 8});
  Caller first(one.port());
  ASSERT_TRUE(first.prove());
  Caller second(one.port());
  ASSERT_TRUE(second.prove());
  Caller third(one.port());
  const auto refused = third.expect<Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->text, "this address has all of its 2 connections");
  Caller elsewhere(one.port(), "127.0.0.2");
  EXPECT_TRUE(elsewhere.prove());
}

TEST(ControlLimits, WrongTokensCostTime) {
  Switch one(plane(), {.sources = {.first_delay = 300ms, .max_delay = 600ms}});
  const auto guess = [&] {
    Caller caller(one.port());
    EXPECT_FALSE(caller.prove("a guess"));
  };
  guess();
  EXPECT_GE(seconds_of(guess), 0.29);
  EXPECT_GE(seconds_of(guess), 0.59);
  // Others do not wait, also while this address does.
  Caller waiting(one.port());
  waiting.send(Begin{.nonce = random_nonce()});
  EXPECT_FALSE(waiting.next(100ms));
  Caller other(one.port(), "127.0.0.2");
  EXPECT_LT(seconds_of([&] { EXPECT_TRUE(other.prove()); }), 0.4);
  EXPECT_TRUE(waiting.expect<Challenge>());
  EXPECT_EQ(one.status()["wrong_tokens"], 3);
}

/// Else who holds many handshakes has as many guesses a delay.
TEST(ControlLimits, HandshakesBehindAWrongTokenAreAnsweredOneByOne) {
  Switch one(plane(), {.sources = {.first_delay = 400ms, .max_delay = 400ms}});
  EXPECT_FALSE(Caller(one.port()).prove("a guess"));
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < 3; ++i) {
    callers.push_back(std::make_unique<Caller>(one.port()));
    callers.back()->send(Begin{.nonce = random_nonce()});
  }
  EXPECT_GE(seconds_of([&] {
              for (const auto& caller : callers) EXPECT_TRUE(caller->expect<Challenge>());
            }),
            1.1);
  // Those with the right token do not wait for each other.
  EXPECT_LT(seconds_of([&] {
              for (int i = 0; i < 8; ++i) EXPECT_TRUE(Caller(one.port()).prove());
            }),
            2.0);
}

// Who sends more than it may. Sockets take some MiB by themselves.

constexpr int short_buffer = 1 << 16;
constexpr std::size_t sockets_take = 24 << 20, without_end = 48 << 20;

TEST(ControlLimits, AHandshakeThatWaitsIsNotReadOn) {
  Switch one(plane(), {.sources = {.first_delay = 20s, .max_delay = 20s}});
  EXPECT_FALSE(Caller(one.port()).prove("a guess"));
  Caller waiting(one.port(), "127.0.0.1", short_buffer);
  waiting.send(Begin{.nonce = random_nonce()});
  // The server looks at all of its connections when one of them says something.
  Caller other(one.port(), "127.0.0.2");
  ASSERT_TRUE(other.prove());
  std::size_t taken = 0;
  for (int i = 0; i < 600; ++i) {
    taken += waiting.flood(Begin{}, 1 << 17, 0ms);
    other.send(join_of(test::job(1), 0, 2));
    ASSERT_TRUE(other.expect<JoinChallenge>());
  }
  EXPECT_LT(taken, sockets_take);
}

TEST(ControlLimits, AHandshakeThatWaitsMayBeGivenUp) {
  Switch one(plane(), {.sources = {.first_delay = 20s, .max_delay = 20s}});
  EXPECT_FALSE(Caller(one.port()).prove("a guess"));
  {
    Caller waiting(one.port());
    waiting.send(Begin{.nonce = random_nonce()});
    waiting.send(Begin{.nonce = random_nonce()});
    EXPECT_FALSE(waiting.next(100ms));
  }
  // Long before its turn.
  EXPECT_TRUE(wait_for(
      [&] {
        Caller other(one.port(), "127.0.0.2");
        if (!other.prove()) return false;
        other.send(StatusRequest{});
        const auto status = other.expect<Status>();
        return status && nlohmann::json::parse(status->json)["connections"] == 1;
      },
      5s));
}

/// Each join is answered with a challenge, which the server would have to keep.
TEST(ControlLimits, WhoDoesNotReadIsNotReadOn) {
  Switch one(plane());
  Caller caller(one.port(), "127.0.0.1", short_buffer);
  ASSERT_TRUE(caller.prove());
  EXPECT_LT(caller.flood(join_of(test::job(1), 0, 1), without_end, 300ms), sockets_take);
  EXPECT_EQ(one.status()["bad_messages"], 0);
  // It may go on once it reads.
  for (int i = 0; i < 10000; ++i) ASSERT_TRUE(caller.expect<JoinChallenge>());
}

TEST(ControlLimits, AReaderKeepsAMessageAndARead) {
  MessageReader reader(max_request_bytes);
  const std::string bytes(max_request_bytes + max_read_bytes, '\xff');
  reader.append(bytes);
  EXPECT_THROW(reader.append(std::string_view("x")), Error);
}

/// They are kept until they are proven, and a group has thousands of workers.
TEST(ControlLimits, AConnectionHasSoManyJoinsWithoutAProof) {
  Switch one(plane());
  const JobKey job = test::job(1);
  Caller caller(one.port());
  ASSERT_TRUE(caller.prove());
  const auto join = [&](std::uint32_t worker) {
    caller.send(join_of(job, worker, cohom_max_workers));
    return caller.expect<JoinChallenge>();
  };
  const auto first = join(0);
  ASSERT_TRUE(first);
  for (std::uint32_t worker = 1; worker < 64; ++worker) ASSERT_TRUE(join(worker)) << worker;
  caller.send(
      JoinProof{0, job.sign(join_statement(join_of(job, 0, cohom_max_workers), first->nonce))});
  EXPECT_TRUE(join(64)) << "in place of the one that is proven";
  EXPECT_TRUE(join(64)) << "the same once more";
  caller.send(join_of(job, 65, cohom_max_workers));
  const auto refused = caller.expect<Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, Refusal::no_resources);
  EXPECT_EQ(refused->text, "more than 64 joins of a connection lack their proof");
}

TEST(ControlLimits, RecordsOfAddressesAreBounded) {
  SourceRecords records({.sources = 10});
  const auto now = SourceRecords::Clock::now();
  for (std::uint32_t source = 0; source < 1000; ++source)
    records.wrong_token(source, now + std::chrono::milliseconds(source));
  EXPECT_EQ(records.size(), 10u);
  EXPECT_EQ(records.answer_at(999, now), now + 999ms + 100ms);
  EXPECT_EQ(records.answer_at(0, now), now);
  for (int i = 0; i < 100; ++i) records.wrong_token(999, now + 1s);
  EXPECT_EQ(records.answer_at(999, now), now + 1s + 4s);
}

TEST(ControlLimits, OneLineAnAddressAndMinute) {
  SourceRecords records({});
  const auto now = SourceRecords::Clock::now();
  EXPECT_EQ(records.log_line(1, now), "");
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(records.log_line(1, now + 30s));
  EXPECT_EQ(records.log_line(2, now + 30s), "");
  EXPECT_EQ(records.log_line(1, now + 61s), " (50 lines before this one were not logged)");
}

/// It ends, and the server goes on.
TEST(ControlLimits, AGroupWithoutMemoryEndsAlone) {
  std::atomic<bool> no_memory = false;
  Switch one(test::make_host_plane({.no_memory = &no_memory}));
  Caller member(one.port());
  ASSERT_TRUE(is_admitted(member, 1));
  no_memory = true;
  member.send(Ready{});
  const auto refused = member.expect<Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, Refusal::no_resources);
  no_memory = false;
  EXPECT_EQ(one.status()["groups"].size(), 0u);
  Caller again(one.port());
  EXPECT_TRUE(is_admitted(again, 1));
}

}  // namespace
}  // namespace cohom::offload
