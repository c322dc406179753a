// What a daemon takes and what it drops, message by message; and that it then still sums.

#include "aggregation/protocol/hello.hpp"
#include "aggregation/protocol/merge_code.hpp"
#include "aggregation/server/daemon_group.hpp"
#include "aggregation/server/daemon_plane.hpp"
#include "aggregation/server/log_budget.hpp"
#include "base/log.hpp"
#include "failing_memory.hpp"
#include "ucx_transport/library_version.hpp"
#include "ucx_transport/message_link.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace cohom::offload {
namespace {

using namespace std::chrono_literals;

constexpr const char* transports = "tcp,self";
constexpr std::uint64_t job = 77;
constexpr std::uint64_t epoch = 0x5000000000000005;

/// One end of the data path: a process that talks to the daemon.
class Peer : public ucx::MessageReceiver {
 public:
  Peer(DataPlane& plane, std::uint64_t key)
      : key_(key), plane_(plane), worker_({.transports = transports, .features = UCP_FEATURE_AM}) {
    receive_messages(worker_, *this);
    link_ = std::make_unique<ucx::MessageLink>(
        worker_, checked_bytes(plane.ucx_address(), ucx::library_version(), "the plane"));
  }
  ~Peer() override { link_.reset(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] UcxAddress address() const { return worker_.sealed_address(); }
  void hello(std::uint32_t number, std::uint32_t worker) {
    EXPECT_TRUE(plane_.take_address(number, worker, worker_.sealed_address()));
    say_hello(number, worker);
  }
  void say_hello(std::uint32_t number, std::uint32_t worker) {
    link_->send(make_hello({.job = job,
                            .epoch = epoch,
                            .key = key_,
                            .group = number,
                            .worker = worker,
                            .own_group = number}),
                {});
  }
  void send(const cohom_header& header, const std::vector<std::uint64_t>& words,
            const Promotion* promotion = nullptr) {
    const auto copy = std::make_shared<const std::vector<std::uint64_t>>(words);
    link_->send(header, std::as_bytes(std::span(*copy)), copy, nullptr, promotion);
  }
  void progress() { worker_.progress(); }
  void take(const cohom_header& header, std::span<const std::byte> data) noexcept override {
    taken_.push_back(header);
    last_.resize(data.size() / 8);
    if (!data.empty()) std::memcpy(last_.data(), data.data(), data.size());
  }

  [[nodiscard]] std::uint64_t key() const { return key_; }
  [[nodiscard]] const std::vector<cohom_header>& taken() const { return taken_; }
  [[nodiscard]] const std::vector<std::uint64_t>& last() const { return last_; }

 private:
  std::uint64_t key_;
  DataPlane& plane_;
  ucx::Worker worker_;
  std::unique_ptr<ucx::MessageLink> link_;
  std::vector<cohom_header> taken_;
  std::vector<std::uint64_t> last_;
};

class DaemonMessages : public testing::Test {
 protected:
  DaemonMessages() { open(); }

  void open() {
    number_ = *plane_->add_group({.job = job,
                                  .epoch = epoch,
                                  .members = {{0, first_.key()}, {1, second_.key()}},
                                  .slots = 4,
                                  .payload_bytes = 80,
                                  .parent = {}});
  }

  using Counts = std::map<std::string, std::uint64_t>;
  [[nodiscard]] Counts counts() const {
    Counts counts;
    for (const auto& [name, count] : plane_->packets()) counts[name] = count;
    return counts;
  }

  void progress_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      first_.progress();
      second_.progress();
      std::this_thread::sleep_for(100us);
    }
    ASSERT_TRUE(condition());
  }

  /// Both workers are known, and the group is open.
  void form() {
    first_.hello(number_, 0);
    second_.hello(number_, 1);
    progress_until([&] { return !first_.taken().empty() && !second_.taken().empty(); });
    EXPECT_EQ(first_.taken()[0].kind, cohom_hello_answer);
    plane_->start(number_);
  }

  [[nodiscard]] cohom_header contribution(const Peer& peer, std::uint32_t worker) const {
    cohom_header header = make_hello(
        {.job = job, .epoch = epoch, .key = peer.key(), .group = number_, .worker = worker});
    header.kind = cohom_contribution;
    header.words = 2;
    return header;
  }

  /// What becomes of one message.
  std::string verdict_of(Peer& peer, const cohom_header& header,
                         const std::vector<std::uint64_t>& words,
                         const Promotion* promotion = nullptr) {
    const Counts before = counts();
    peer.send(header, words, promotion);
    std::string found;
    progress_until([&] {
      for (const auto& [name, count] : counts())
        if (count != before.at(name)) found = name;
      return !found.empty();
    });
    return found;
  }

  std::unique_ptr<DataPlane> plane_ =
      make_daemon_plane({.slots = 16, .groups = 4, .transports = transports});
  std::uint32_t number_ = 0;
  Peer first_{*plane_, 1001}, second_{*plane_, 1002};
};

TEST_F(DaemonMessages, EveryFieldCounts) {
  form();
  const auto verdict = [&](const std::function<void(cohom_header&)>& change,
                           const std::vector<std::uint64_t>& words = {1, 2}) {
    cohom_header header = contribution(first_, 0);
    change(header);
    return verdict_of(first_, header, words);
  };
  using H = cohom_header;
  EXPECT_EQ(verdict([](H& h) { h.magic = 0; }), "drop_malformed");
  EXPECT_EQ(verdict([](H& h) { h.version = 1; }), "drop_version");
  EXPECT_EQ(verdict([](H& h) { h.flags = 1; }), "drop_malformed");
  EXPECT_EQ(verdict([](H& h) { h.kind = 9; }), "drop_malformed");
  EXPECT_EQ(verdict([](H& h) { h.group = 1; }), "drop_group");
  EXPECT_EQ(verdict([](H& h) { h.group = 0xffff; }), "drop_group");
  EXPECT_EQ(verdict([](H& h) { ++h.job; }), "drop_group");
  EXPECT_EQ(verdict([](H& h) { --h.epoch; }), "drop_epoch");
  EXPECT_EQ(verdict([](H& h) { h.worker = 2; }), "drop_worker");
  EXPECT_EQ(verdict([](H& h) { h.worker = 1; }), "drop_key") << "another one's key";
  EXPECT_EQ(verdict([](H& h) { h.key = 0; }), "drop_key");
  EXPECT_EQ(verdict([](H& h) { h.kind = cohom_hello, h.key ^= 1; }), "drop_key");
  EXPECT_EQ(verdict([](H& h) { h.kind = cohom_sum; }), "drop_source") << "no parent";
  EXPECT_EQ(verdict([](H& h) { h.kind = cohom_hello; }), "drop_source") << "known already";
  EXPECT_EQ(verdict([](H& h) { h.slot = 4; }), "drop_slot");
  EXPECT_EQ(verdict([](H& h) { h.words = 3; }), "drop_size");
  EXPECT_EQ(verdict([](H& h) { h.words = 0; }, {}), "drop_size");
  EXPECT_EQ(verdict([](H& h) { h.words = 11; }, std::vector<std::uint64_t>(11)), "drop_size");
  EXPECT_EQ(verdict([](H& h) { h.merge = cohom_merge_max16 + 1; }), "drop_merge");
  EXPECT_EQ(verdict([](H& h) { h.sequence = 2; }), "drop_order");
  EXPECT_EQ(verdict([](H& h) { h.kind = cohom_waiting; }), "told_waiting");

  EXPECT_EQ(verdict([](H&) {}, {10, 20}), "kept");
  EXPECT_EQ(verdict([](H&) {}, {10, 20}), "drop_old");
  EXPECT_EQ(verdict_of(second_, contribution(second_, 1), {1, 2}), "spread");
  progress_until([&] { return first_.last().size() == 2; });
  EXPECT_EQ(first_.last(), (std::vector<std::uint64_t>{11, 22}));
  EXPECT_EQ(first_.taken().back().key, first_.key());
  EXPECT_EQ(plane_->counters(number_).contributions, 2u);
}

/// A wrong byte in an address ends the process that gives it to UCX.
TEST_F(DaemonMessages, AddressesAreChecked) {
  const UcxAddress right = first_.address();
  const auto kind_of = [&](const UcxAddress& address) {
    try {
      plane_->take_address(number_, 0, address);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::state;
  };
  for (std::size_t i = 0; i < right.bytes.size(); ++i) {
    UcxAddress wrong = right;
    wrong.bytes[i] = static_cast<char>(wrong.bytes[i] ^ 1 << i % 8);
    EXPECT_EQ(kind_of(wrong), ErrorKind::transport) << i;
  }
  UcxAddress other = right;
  ++other.version[1];
  EXPECT_EQ(kind_of(other), ErrorKind::unsupported);
  EXPECT_EQ(kind_of(plane_->ucx_address()), ErrorKind::transport) << "the daemon's own";
  EXPECT_FALSE(plane_->take_address(number_, 2, right)) << "no member";
  first_.hello(number_, 0);
  EXPECT_FALSE(plane_->take_address(number_, 0, right)) << "once";
  progress_until([&] { return counts().at("greeted") == 1; });
  cohom_header hello = contribution(second_, 1);
  hello.kind = cohom_hello;
  EXPECT_EQ(verdict_of(second_, hello, {1}), "drop_size") << "hellos have no words";
}

TEST_F(DaemonMessages, TheLargestOfPartsOfWords) {
  form();
  const std::vector<std::uint64_t> first{0x00ff7f8080017fff, 9}, second{0xff0080807fff8000, 0x100};
  const auto sum_by = [&](__u8 merge) {
    cohom_header one = contribution(first_, 0), other = contribution(second_, 1);
    one.slot = other.slot = merge % 4;
    one.merge = other.merge = merge;
    EXPECT_EQ(verdict_of(first_, one, first), "kept");
    EXPECT_EQ(verdict_of(second_, other, second), "spread");
    progress_until([&] { return first_.taken().back().merge == merge; });
    return first_.last();
  };
  using Words = std::vector<std::uint64_t>;
  EXPECT_EQ(sum_by(cohom_merge_max8), (Words{0xffff808080ff80ff, 0x109}));
  EXPECT_EQ(sum_by(cohom_merge_max16), (Words{0xff00808080018000, 0x100}));
}

TEST_F(DaemonMessages, NarrowContributionsAreChecked) {
  form();
  const Promotion right{.narrow_width = 4, .wide_width = 8, .block = 16};
  cohom_header header = contribution(first_, 0);
  const auto verdict = [&](const std::function<void(Promotion&)>& change,
                           const std::vector<std::uint64_t>& words = {0x21}) {
    Promotion promotion = right;
    change(promotion);
    return verdict_of(first_, header, words, &promotion);
  };
  using W = Promotion;
  EXPECT_EQ(verdict([](W& w) { w.narrow_width = 0; }), "drop_malformed");
  EXPECT_EQ(verdict([](W& w) { w.wide_width = 4; }), "drop_malformed");
  EXPECT_EQ(verdict([](W& w) { w.wide_width = 255; }), "drop_malformed");
  EXPECT_EQ(verdict([](W& w) { w.block = 1u << 31; }), "drop_malformed");
  EXPECT_EQ(verdict([](W&) {}, {1, 2}), "drop_size");
  EXPECT_EQ(verdict([](W&) {}, {}), "drop_size");
  EXPECT_EQ(verdict([](W& w) { w.wide_width = 32; }), "drop_size") << "half a block";
  header.merge = cohom_merge_max;
  EXPECT_EQ(verdict([](W&) {}), "drop_malformed") << "promoted words are added";
  header.merge = cohom_merge_add;
  header.key = 0;
  EXPECT_EQ(verdict([](W&) {}), "drop_key");
  header.key = first_.key();
  // Values 0 and 1 of 16: lane 0 of words 0 and 1 of the sum.
  EXPECT_EQ(verdict([](W& w) { w.has_levels = true, w.levels = {0, 7, 9}; }), "kept");
  EXPECT_EQ(verdict_of(second_, contribution(second_, 1), {100, 100}), "spread");
  progress_until([&] { return second_.last().size() == 2; });
  EXPECT_EQ(second_.last(), (std::vector<std::uint64_t>{107, 109}));
}

/// A member makes checksums itself, so they keep nothing out: what UCX would end at is found
/// elsewhere. UCX may break the link of a worker that such an address still leads to.
TEST_F(DaemonMessages, AddressesThatEndProcessesEndTheirGroupAlone) {
  Peer member(*plane_, first_.key());
  const UcxAddress right = member.address();
  std::uint64_t state = 1;
  const auto random = [&state] { return (state = state * 6364136223846793005u + 1) >> 33; };
  int refused = 0;
  for (int i = 0; i < 12; ++i) {
    std::string bytes = right.bytes;
    for (int k = 0; k < 8; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(bytes.size() / (i % 3 + 1));
    plane_->close(number_);
    open();
    EXPECT_TRUE(plane_->take_address(
        number_, 0, make_ucx_address(right.version, std::as_bytes(std::span(bytes)))));
    member.say_hello(number_, 0);
    const std::size_t answers = member.taken().size();
    const auto end = std::chrono::steady_clock::now() + 400ms;
    bool failed = false;
    while (!failed && member.taken().size() == answers && std::chrono::steady_clock::now() < end) {
      member.progress();
      failed = failed || plane_->failures().contains(number_);
    }
    refused += failed;
  }
  EXPECT_GE(refused, 4) << "of 12; the others lead nowhere, or are right still";
  plane_->close(number_);
  open();
  form();
  plane_.reset();  // before the member: UCX may end where it is still to answer one that has left
}

/// UCX says so only when it is to connect: no transport leads there.
TEST(DaemonParent, OneThatCannotBeReachedEndsTheGroupAlone) {
  const char* const probe = std::getenv("COHOM_PROBE_PROGRAM");
  const std::string before = probe != nullptr ? probe : "";
  ::setenv("COHOM_PROBE_PROGRAM", "", 1);  // which would find it first
  const auto plane = make_daemon_plane({.transports = transports});
  if (probe != nullptr) ::setenv("COHOM_PROBE_PROGRAM", before.c_str(), 1);
  const ucx::Worker elsewhere({.transports = "sysv", .features = UCP_FEATURE_AM});
  GroupPlan plan{.job = job,
                 .epoch = epoch,
                 .members = {{0, 1}},
                 .slots = 4,
                 .payload_bytes = 80,
                 .parent = ParentPlan{}};
  plan.parent->ucx_address = elsewhere.sealed_address();
  const std::uint32_t number = *plane->add_group(plan);
  EXPECT_FALSE(plane->meet_parent(number));
  const auto failures = plane->failures();
  ASSERT_TRUE(failures.contains(number));
  EXPECT_TRUE(failures.at(number).starts_with("the parent cannot be reached: "))
      << failures.at(number);
  EXPECT_FALSE(plane->meet_parent(number));
  plane->close(number);
}

/// Whoever may join would fill the log, a line each time.
TEST(DaemonLog, PathsToMembersAreWithinTheBudgetOfLines) {
  constexpr std::uint32_t members = 5, lines = 3;
  ucx::Worker worker({.transports = transports, .features = UCP_FEATURE_AM});
  const ucx::Worker elsewhere({.transports = transports, .features = UCP_FEATURE_AM});
  const UcxAddress address = elsewhere.sealed_address();
  LogBudget notes(lines, std::chrono::hours(1));
  GroupPlan plan{
      .job = job, .epoch = epoch, .members = {}, .slots = 4, .payload_bytes = 80, .parent = {}};
  for (std::uint32_t member = 0; member < members; ++member) plan.members.push_back({member, 1});
  DaemonGroup group(worker, plan, 0, notes);
  const auto level = log().level();
  log().set_level(spdlog::level::info);
  testing::internal::CaptureStderr();
  for (std::uint32_t member = 0; member < members; ++member) {
    EXPECT_TRUE(group.expect_address(member));
    group.take_address(member, std::as_bytes(std::span(address.bytes)));
    group.take(make_hello({.job = job, .epoch = epoch, .key = 1, .group = 0, .worker = member}),
               {});
    group.answer_hellos();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  log().set_level(level);
  EXPECT_EQ(group.met(), bits_of(plan.members));
  std::uint32_t found = 0;
  for (std::size_t at = 0; (at = said.find(" is reached by ", at)) != std::string::npos; ++at)
    ++found;
  EXPECT_EQ(found, lines) << said;
}

/// Sends what it may not, and takes nothing.
TEST_F(DaemonMessages, AMemberThatTakesNoSumsIsDropped) {
  form();
  cohom_header header = contribution(first_, 0);
  header.sequence = 1;
  for (int i = 0; i < 1100; ++i) first_.send(header, {1, 2});
  std::string why;
  progress_until([&] {
    if (const auto failures = plane_->failures(); !failures.empty()) why = failures.at(number_);
    return !why.empty();
  });
  EXPECT_EQ(why, "worker 0 contributes on and on without taking its sums, and was dropped");
  EXPECT_EQ(verdict_of(second_, contribution(second_, 1), {1, 2}), "drop_group");
}

/// A daemon's threads lack memory, at each allocation for a group once: the group ends, and a later
/// one is summed.
TEST_F(DaemonMessages, AGroupWithoutMemoryEndsAlone) {
  test::spared = true;  // who asks has some
  /// False: the group has failed.
  const auto comes_true = [&](const std::function<bool()>& condition) {
    bool failed = false;
    progress_until([&] {
      failed = failed || plane_->failures().contains(number_);
      return failed || condition();
    });
    return !failed;
  };
  const auto is_summed = [&] {
    const std::size_t first = first_.taken().size(), second = second_.taken().size();
    first_.hello(number_, 0);
    second_.hello(number_, 1);
    if (!comes_true(
            [&] { return first_.taken().size() > first && second_.taken().size() > second; }))
      return false;
    plane_->start(number_);
    first_.send(contribution(first_, 0), {10, 20});
    second_.send(contribution(second_, 1), {1, 2});
    return comes_true(
        [&] { return first_.taken().size() > first + 1 && second_.taken().size() > second + 1; });
  };
  long allocation = 0;
  for (;; ++allocation) {
    const long failed_before = test::allocations_failed;
    test::others_allocations_left = allocation;
    const bool summed = is_summed();
    test::others_allocations_left = -1;
    if (test::allocations_failed == failed_before) break;
    EXPECT_FALSE(summed) << "without allocation " << allocation;
    plane_->close(number_);
    open();
  }
  EXPECT_GT(allocation, 10) << "a group takes some memory";
  plane_->close(number_);
  open();
  EXPECT_TRUE(is_summed());
  EXPECT_EQ(first_.last(), (std::vector<std::uint64_t>{11, 22}));
  test::spared = false;
  plane_.reset();  // before the members, as above
}

TEST_F(DaemonMessages, NobodyContributesBeforeTheGroupIsOpen) {
  first_.hello(number_, 0);
  progress_until([&] { return !first_.taken().empty(); });
  EXPECT_EQ(verdict_of(first_, contribution(first_, 0), {1, 2}), "drop_source");
  plane_->close(number_);
  EXPECT_EQ(verdict_of(second_, contribution(second_, 1), {1, 2}), "drop_group");
}

}  // namespace
}  // namespace cohom::offload
