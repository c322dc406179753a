// What a daemon takes and what it drops, message by message; and that it then still sums.

#include "offload/daemon_plane.hpp"
#include "offload/hello.hpp"
#include "offload/merge_code.hpp"
#include "ucx_transport/message_link.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace cohom::offload {
namespace {

using namespace std::chrono_literals;
using ucx::MessageHeader;

constexpr const char* transports = "tcp,self";
constexpr std::uint64_t job = 77;
constexpr std::uint32_t epoch = 5;

/// One end of the data path: a process that talks to the daemon.
class Peer : public ucx::MessageReceiver {
 public:
  Peer(const DataPlane& plane, std::uint64_t key)
      : key_(key), worker_({.transports = transports, .features = UCP_FEATURE_AM}) {
    receive_messages(worker_, *this);
    link_ = std::make_unique<ucx::MessageLink>(worker_, ucx::from_hex(plane.data_address()));
  }
  ~Peer() override { link_.reset(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void hello(std::uint32_t number, std::uint32_t worker) {
    const auto address = std::make_shared<const std::vector<std::byte>>(worker_.address());
    link_->send({make_hello(job, number, epoch, worker, number), key_}, *address, address);
  }
  void send(const MessageHeader& header, const std::vector<std::uint64_t>& words,
            const Widening* widening = nullptr) {
    const auto copy = std::make_shared<const std::vector<std::uint64_t>>(words);
    link_->send(header, std::as_bytes(std::span(*copy)), copy, nullptr, widening);
  }
  void progress() { worker_.progress(); }
  void take(const MessageHeader& header, std::span<const std::byte> data) noexcept override {
    taken_.push_back(header);
    last_.resize(data.size() / 8);
    if (!data.empty()) std::memcpy(last_.data(), data.data(), data.size());
  }

  [[nodiscard]] std::uint64_t key() const { return key_; }
  [[nodiscard]] const std::vector<MessageHeader>& taken() const { return taken_; }
  [[nodiscard]] const std::vector<std::uint64_t>& last() const { return last_; }

 private:
  std::uint64_t key_;
  ucx::Worker worker_;
  std::unique_ptr<ucx::MessageLink> link_;
  std::vector<MessageHeader> taken_;
  std::vector<std::uint64_t> last_;
};

class DaemonMessages : public testing::Test {
 protected:
  DaemonMessages() {
    number_ = *plane_->open(
        {.job = job, .epoch = epoch, .members = 3, .slots = 4, .payload_bytes = 80, .parent = {}});
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
    EXPECT_EQ(first_.taken()[0].packet.kind, cohom_hello_answer);
    plane_->start(number_);
  }

  [[nodiscard]] MessageHeader contribution(const Peer& peer, std::uint32_t worker) const {
    MessageHeader header{make_hello(job, number_, epoch, worker, 0), peer.key()};
    header.packet.kind = cohom_contribution;
    header.packet.words = 2;
    return header;
  }

  /// What becomes of one message.
  std::string verdict_of(Peer& peer, const MessageHeader& header,
                         const std::vector<std::uint64_t>& words,
                         const Widening* widening = nullptr) {
    const Counts before = counts();
    peer.send(header, words, widening);
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
  const auto verdict = [&](const std::function<void(MessageHeader&)>& change,
                           const std::vector<std::uint64_t>& words = {1, 2}) {
    MessageHeader header = contribution(first_, 0);
    change(header);
    return verdict_of(first_, header, words);
  };
  using H = MessageHeader;
  EXPECT_EQ(verdict([](H& h) { h.packet.magic = 0; }), "drop_malformed");
  EXPECT_EQ(verdict([](H& h) { h.packet.version = 2; }), "drop_version");
  EXPECT_EQ(verdict([](H& h) { h.packet.flags = 1; }), "drop_malformed");
  EXPECT_EQ(verdict([](H& h) { h.packet.kind = 9; }), "drop_malformed");
  EXPECT_EQ(verdict([](H& h) { h.packet.group = 1; }), "drop_group");
  EXPECT_EQ(verdict([](H& h) { h.packet.group = 0xffffffff; }), "drop_group");
  EXPECT_EQ(verdict([](H& h) { ++h.packet.job; }), "drop_group");
  EXPECT_EQ(verdict([](H& h) { --h.packet.epoch; }), "drop_epoch");
  EXPECT_EQ(verdict([](H& h) { h.packet.worker = 2; }), "drop_source");
  EXPECT_EQ(verdict([](H& h) { h.packet.worker = 1; }), "drop_source") << "another one's key";
  EXPECT_EQ(verdict([](H& h) { h.key = 0; }), "drop_source");
  EXPECT_EQ(verdict([](H& h) { h.packet.kind = cohom_sum; }), "drop_source") << "no parent";
  EXPECT_EQ(verdict([](H& h) { h.packet.kind = cohom_hello; }), "drop_source") << "known already";
  EXPECT_EQ(verdict([](H& h) { h.packet.slot = 4; }), "drop_slot");
  EXPECT_EQ(verdict([](H& h) { h.packet.parity = 1; }), "drop_slot");
  EXPECT_EQ(verdict([](H& h) { h.packet.words = 3; }), "drop_size");
  EXPECT_EQ(verdict([](H& h) { h.packet.words = 0; }, {}), "drop_size");
  EXPECT_EQ(verdict([](H& h) { h.packet.words = 11; }, std::vector<std::uint64_t>(11)),
            "drop_size");
  EXPECT_EQ(verdict([](H& h) { h.packet.merge = 3; }), "drop_merge");
  EXPECT_EQ(verdict([](H& h) { h.packet.use = 2; }), "drop_order");
  EXPECT_EQ(verdict([](H& h) { h.packet.kind = cohom_waiting; }), "told_waiting");

  EXPECT_EQ(verdict([](H&) {}, {10, 20}), "kept");
  EXPECT_EQ(verdict([](H&) {}, {10, 20}), "drop_old");
  EXPECT_EQ(verdict_of(second_, contribution(second_, 1), {1, 2}), "spread");
  progress_until([&] { return first_.last().size() == 2; });
  EXPECT_EQ(first_.last(), (std::vector<std::uint64_t>{11, 22}));
  EXPECT_EQ(first_.taken().back().key, first_.key());
  EXPECT_EQ(plane_->counters(number_).contributions, 2u);
}

TEST_F(DaemonMessages, NarrowContributionsAreChecked) {
  form();
  const Widening right{.narrow_width = 4, .wide_width = 8, .block = 16};
  MessageHeader header = contribution(first_, 0);
  const auto verdict = [&](const std::function<void(Widening&)>& change,
                           const std::vector<std::uint64_t>& words = {0x21}) {
    Widening widening = right;
    change(widening);
    return verdict_of(first_, header, words, &widening);
  };
  using W = Widening;
  EXPECT_EQ(verdict([](W& w) { w.narrow_width = 0; }), "drop_malformed");
  EXPECT_EQ(verdict([](W& w) { w.wide_width = 4; }), "drop_malformed");
  EXPECT_EQ(verdict([](W& w) { w.wide_width = 255; }), "drop_malformed");
  EXPECT_EQ(verdict([](W& w) { w.block = 1u << 31; }), "drop_malformed");
  EXPECT_EQ(verdict([](W&) {}, {1, 2}), "drop_size");
  EXPECT_EQ(verdict([](W&) {}, {}), "drop_size");
  EXPECT_EQ(verdict([](W& w) { w.wide_width = 32; }), "drop_size") << "half a block";
  header.packet.merge = cohom_merge_max;
  EXPECT_EQ(verdict([](W&) {}), "drop_malformed") << "widened words are added";
  header.packet.merge = cohom_merge_add;
  header.key = 0;
  EXPECT_EQ(verdict([](W&) {}), "drop_source");
  header.key = first_.key();
  // Values 0 and 1 of 16: lane 0 of words 0 and 1 of the sum.
  EXPECT_EQ(verdict([](W& w) { w.has_levels = true, w.levels = {0, 7, 9}; }), "kept");
  EXPECT_EQ(verdict_of(second_, contribution(second_, 1), {100, 100}), "spread");
  progress_until([&] { return second_.last().size() == 2; });
  EXPECT_EQ(second_.last(), (std::vector<std::uint64_t>{107, 109}));
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
