// The control channel against those who do not belong there: proofs, seats, who is told what.

#include "aggregation/client/network_aggregator.hpp"
#include "aggregation/protocol/connection.hpp"
#include "aggregation/protocol/handshake.hpp"
#include "aggregation/server/log_budget.hpp"
#include "control_caller.hpp"
#include "job_keys.hpp"
#include "offload_load.hpp"
#include "offload_switch.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cohom::offload {
namespace {

using test::packet_options;
using namespace std::chrono_literals;

TEST(ControlChannel, NothingIsSaidBeforeTheProof) {
  Switch one(plane());
  for (const Message& message : {Message(StatusRequest{}), Message(join_of(test::job(1), 0, 1)),
                                 Message(Proof{}), Message(Ready{})}) {
    Caller caller(one.port());
    caller.send(message);
    EXPECT_FALSE(caller.next()) << message.index();
  }
}

TEST(ControlChannel, AProofServesOnce) {
  Switch one(plane());
  ClientHandshake handshake(test::token);
  Caller first(one.port());
  first.send(handshake.begin());
  const auto proof = handshake.answer(*first.next());
  first.send(*proof);
  ASSERT_TRUE(first.expect<Welcome>());
  // Who has seen all of that says it again.
  Caller second(one.port());
  second.send(handshake.begin());
  ASSERT_TRUE(second.expect<Challenge>());
  second.send(*proof);
  const auto refused = second.expect<Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, Refusal::wrong_token);
}

TEST(ControlChannel, AServerCannotSendTheClientsProofBack) {
  ClientHandshake handshake(test::token);
  const auto proof = handshake.answer(Challenge{.nonce = handshake.begin().nonce});
  EXPECT_THROW(handshake.answer(Welcome{std::get<Proof>(*proof).mac}), Error);
}

TEST(ControlChannel, AServerWithoutTheTokenIsNone) {
  ClientHandshake handshake(test::token);
  ServerHandshake impostor;
  const auto proof = handshake.answer(impostor.challenge(handshake.begin()));
  EXPECT_FALSE(impostor.judge(std::get<Proof>(*proof), "another token"));
  EXPECT_THROW(handshake.answer(Welcome{}), Error);
  EXPECT_FALSE(handshake.done());
}

// Else ranks would wait for it until their patience ends, each time.
TEST(ControlChannel, AServerThatFailsHangsUp) {
  std::atomic<bool> broken = false;
  const auto breaking = test::make_host_plane({.broken = &broken});
  ControlServer server({.listen = test::local(0), .token = test::token, .parent = {}, .limits = {}},
                       *breaking);
  const std::uint16_t port = ntohs(server.address().sin_port);
  std::thread thread([&] { EXPECT_THROW(server.run(), std::bad_alloc); });
  Caller caller(port);
  EXPECT_TRUE(caller.prove());
  broken = true;
  EXPECT_LT(seconds_of([&] { EXPECT_FALSE(caller.next()); }), 4);
  thread.join();
  EXPECT_THROW(Caller{port}, Error);
}

TEST(ControlChannel, OtherVersionsHearWhy) {
  Switch one(plane());
  Caller caller(one.port());
  caller.send(Begin{.version = 2});
  const auto refused = caller.expect<Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->text, "control channel of version 2, here is 3");
  ClientHandshake handshake(test::token);
  EXPECT_THROW(handshake.answer(Challenge{.version = 4}), Error);
}

/// Who has the site's token, and even knows the job's public key, does not get its seat.
TEST(ControlChannel, ASeatNeedsTheJobsKey) {
  Switch one(plane());
  NetworkAggregator first(one.endpoint(), {.job = test::job(1), .rank = 0, .ranks = 2},
                          packet_options());
  ASSERT_TRUE(wait_for([&] { return one.status()["groups"].size() == 1; }));
  const Join victims = join_of(test::job(1), 1, 2);
  const auto refusal_of = [&](const auto& sign) {
    Caller thief(one.port());
    EXPECT_TRUE(thief.prove());
    thief.send(victims);
    const auto challenge = thief.expect<JoinChallenge>();
    EXPECT_TRUE(challenge);
    thief.send(JoinProof{1, sign(challenge->nonce)});
    const auto refused = thief.expect<Refused>();
    return refused ? refused->reason : Refusal{};
  };
  EXPECT_EQ(refusal_of([](const Nonce&) { return Signature{}; }), Refusal::wrong_key);
  EXPECT_EQ(refusal_of([&](const Nonce& nonce) {
              return test::job(2).sign(join_statement(victims, nonce));
            }),
            Refusal::wrong_key);
  // A signature of the job itself, but for another seat, or another nonce.
  EXPECT_EQ(refusal_of([&](const Nonce& nonce) {
              return test::job(1).sign(join_statement(join_of(test::job(1), 0, 2), nonce));
            }),
            Refusal::wrong_key);
  EXPECT_EQ(refusal_of([&](const Nonce&) {
              return test::job(1).sign(join_statement(victims, random_nonce()));
            }),
            Refusal::wrong_key);
  EXPECT_EQ(one.status()["wrong_keys"], 4);
  EXPECT_EQ(one.status()["groups"][0]["joined"], 1);
  NetworkAggregator second(one.endpoint(), {.job = test::job(1), .rank = 1, .ranks = 2},
                           packet_options());
  EXPECT_TRUE(wait_for([&] { return first.ready() && second.ready(); }));
}

/// A leaf is trusted with what passes through it, but not with seats of its own choice.
TEST(ControlChannel, ALeafCannotTakeASeatByItself) {
  Switch root(plane());
  Caller leaf(root.port());
  ASSERT_TRUE(leaf.prove());
  for (std::uint32_t worker : {0u, 1u}) leaf.send(join_of(test::job(1), worker, 2));
  std::vector<Nonce> nonces;
  for (int i = 0; i < 2; ++i) {
    const auto challenge = leaf.expect<JoinChallenge>();
    ASSERT_TRUE(challenge);
    nonces.push_back(challenge->nonce);
  }
  EXPECT_NE(nonces[0], nonces[1]);
  // The proof of one of its workers is none for the other.
  leaf.send(
      JoinProof{1, test::job(1).sign(join_statement(join_of(test::job(1), 1, 2), nonces[0]))});
  const auto refused = leaf.expect<Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, Refusal::wrong_key);
}

TEST(ControlChannel, ALeafPassesOnTheProofsThatItsParentAskedFor) {
  Switch root(plane());
  Switch leaf(plane(), {}, root.port());
  Caller caller(leaf.port());
  ASSERT_TRUE(caller.prove());
  const Join join = join_of(test::job(1), 0, 2);
  caller.send(join);
  JoinProof proof;
  for (int level = 0; level < 2; ++level) {
    const auto challenge = caller.expect<JoinChallenge>();
    ASSERT_TRUE(challenge);
    proof = {0, test::job(1).sign(join_statement(join, challenge->nonce))};
    caller.send(proof);
  }
  ASSERT_TRUE(wait_for([&] { return root.status()["group_count"] == 1; }));
  caller.send(proof);
  EXPECT_TRUE(caller.expect<Refused>());
  EXPECT_EQ(leaf.status()["bad_messages"], 1);
  EXPECT_EQ(root.status()["bad_messages"], 0);
}

// Who is told what.

TEST(ControlChannel, TheStatusShowsAJobToItsOwner) {
  Switch one(plane());
  std::vector<std::unique_ptr<NetworkAggregator>> jobs;
  for (std::uint64_t number : {1, 2})
    jobs.push_back(std::make_unique<NetworkAggregator>(
        one.endpoint(), GroupMembership{.job = test::job(number)}, packet_options()));
  ASSERT_TRUE(wait_for([&] { return jobs[0]->ready() && jobs[1]->ready(); }));
  const auto told = [&](const StatusQuery& query) {
    return nlohmann::json::parse(query_status(test::local(one.port()), query));
  };
  const auto everybody = told({.token = test::token});
  EXPECT_EQ(everybody["group_count"], 2);
  EXPECT_EQ(everybody["jobs"], 2);
  EXPECT_FALSE(everybody.contains("groups"));
  EXPECT_EQ(everybody.dump().find(std::to_string(test::job(1).id())), std::string::npos);
  EXPECT_EQ(one.status()["groups"].size(), 2u);
  const auto own = told({.token = test::token, .job = test::job(2)});
  ASSERT_EQ(own["groups"].size(), 1u);
  EXPECT_EQ(own["groups"][0]["job"], test::job(2).id());
  EXPECT_FALSE(own["groups"][0].contains("epoch"));
  EXPECT_THROW(told({.token = test::token, .credential = Credential::operator_token}), Error);
  Caller thief(one.port());
  ASSERT_TRUE(thief.prove());
  thief.send(StatusRequest{test::job(1).public_key(), test::job(2).sign("cohom status 3 ")});
  const auto refused = thief.expect<Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, Refusal::wrong_key);
}

// The life of a group.

TEST(ControlChannel, AMemberIsReadyWhenTheDataPlaneHasMetIt) {
  Switch one(plane());
  Caller liar(one.port());
  ASSERT_TRUE(liar.prove());
  const Join join = join_of(test::job(1), 0, 1);
  liar.send(join);
  const auto challenge = liar.expect<JoinChallenge>();
  ASSERT_TRUE(challenge);
  liar.send(JoinProof{0, test::job(1).sign(join_statement(join, challenge->nonce))});
  ASSERT_TRUE(liar.expect<Admitted>());
  liar.send(Ready{});
  EXPECT_FALSE(liar.next(700ms));
  EXPECT_EQ(one.status()["groups"][0]["state"], "greeting");
}

/// A parent that admits one worker and names a data path of its own choice.
class FalseParent {
 public:
  explicit FalseParent(std::string data_address)
      : data_address_(std::move(data_address)), listener_(listen_on(test::local(0))) {
    socklen_t size = sizeof address_;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address_), &size);
    thread_ = std::jthread([this] { serve(); });
  }
  [[nodiscard]] std::uint16_t port() const { return ntohs(address_.sin_port); }

 private:
  void serve() {
    pollfd waiting{listener_.get(), POLLIN, 0};
    ::poll(&waiting, 1, 10000);
    Connection leaf(FileDescriptor(::accept(listener_.get(), nullptr, nullptr)), max_message_bytes);
    ServerHandshake handshake;
    for (bool alive = true; alive;) {
      pollfd ready{leaf.descriptor(), POLLIN, 0};
      if (::poll(&ready, 1, 10000) <= 0) return;
      alive = leaf.read();
      while (const auto message = leaf.next()) answer(leaf, handshake, *message);
    }
  }
  void answer(Connection& leaf, ServerHandshake& handshake, const Message& message) {
    if (const auto* begin = std::get_if<Begin>(&message)) leaf.send(handshake.challenge(*begin));
    if (const auto* proof = std::get_if<Proof>(&message))
      leaf.send(*handshake.judge(*proof, test::token));
    if (const auto* join = std::get_if<Join>(&message))
      leaf.send(Admitted{.kind = "ebpf",
                         .epoch = 1,
                         .key = 1,
                         .payload_bytes = join->payload_bytes,
                         .slots = join->slots,
                         .merges = 7,
                         .data_address = data_address_,
                         .ucx_address = {}});
  }

  std::string data_address_;
  FileDescriptor listener_;
  sockaddr_in address_{};
  std::jthread thread_;
};

TEST(ControlChannel, WhatAParentSaysTakesNoSlotsForEver) {
  // A name is not looked up either: that may take half a minute, in which nobody else is served.
  for (const char* address : {"nonsense", "a.name.invalid:1", ":99999"}) {
    FalseParent parent(address);
    Switch leaf(plane(), {}, parent.port());
    auto options = packet_options();
    options.retry = 60s;  // the parent is there once
    NetworkAggregator worker(leaf.endpoint(), {.job = test::job(1)}, options);
    EXPECT_TRUE(wait_for([&] {
      return worker.why_not_ready().find("the data path's address is '") != std::string::npos;
    })) << worker.why_not_ready();
    EXPECT_TRUE(wait_for([&] { return leaf.status()["group_count"] == 0; }));
    EXPECT_EQ(leaf.status()["free_slots"], leaf.status()["slots"]);
  }
}

TEST(ControlChannel, AClientGoesWhileItsNameIsLookedUp) {
  // Of this test: see getaddrinfo() below.
  EXPECT_LT(seconds_of([] {
              NetworkAggregator waiting({"slow.test.invalid", 1}, {.job = test::job(1)},
                                        packet_options());
              std::this_thread::sleep_for(50ms);
            }),
            1.5);
}

}  // namespace
}  // namespace cohom::offload

/// A name server that is slow.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result) {
  if (node != nullptr && std::string_view(node) == "slow.test.invalid") {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    return EAI_AGAIN;
  }
  using Lookup = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Lookup>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(node, service, hints, result);
}
