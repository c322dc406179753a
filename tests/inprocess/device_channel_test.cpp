// DeviceChannel's staging, with a channel below it that completes messages when the test says so.

#include "memory/device_channel.hpp"

#include "device_vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::size_t words_bytes = 64;
constexpr int patience = 1000;  // polls until the device has done what was put into its streams

/// What a channel was asked for.
struct Wire {
  struct Message {
    std::span<const std::byte> data;
    std::uint64_t cookie = 0;
  };
  std::vector<Message> sent;
  std::deque<Completion> complete;
};

class PatientChannel final : public Channel {
 public:
  explicit PatientChannel(Wire& wire) : wire_(wire) {}
  void send(std::span<const std::byte> data, int /*peer*/, std::uint32_t /*tag*/,
            std::uint64_t cookie) override {
    wire_.sent.push_back({data, cookie});
  }
  void receive(std::span<std::byte> /*buffer*/, int /*peer*/, std::uint32_t /*tag*/,
               std::uint64_t /*cookie*/) override {}
  std::size_t poll(std::span<Completion> out) override {
    const std::size_t count = std::min(out.size(), wire_.complete.size());
    std::copy_n(wire_.complete.begin(), count, out.begin());
    wire_.complete.erase(wire_.complete.begin(), wire_.complete.begin() + std::ptrdiff_t(count));
    return count;
  }

 private:
  Wire& wire_;
};

class DeviceStaging : public testing::Test {
 protected:
  DeviceStaging() { fill(1); }

  /// All words, on the device.
  void fill(unsigned char value) {
    const Bytes bytes(words_bytes, std::byte{value});
    tested_runtime().copy_to_device(words_.data(), bytes.data(), bytes.size(), work_->stream());
    tested_runtime().synchronise(work_->stream());
  }
  void send(std::size_t first, std::size_t bytes, std::uint64_t cookie) {
    const std::size_t before = wire_.sent.size();
    channel_.send(device_words().subspan(first, bytes), 1, 0, cookie);
    for (int i = 0; i < patience && wire_.sent.size() == before; ++i) poll();
    ASSERT_EQ(wire_.sent.size(), before + 1);
    EXPECT_EQ(wire_.sent.back().data.data(), staged_.data() + first);
    EXPECT_EQ(wire_.sent.back().data.size(), bytes);
  }
  /// As if the receiver had the message: what is polled then.
  std::uint64_t complete(std::size_t message) {
    wire_.complete.push_back({wire_.sent.at(message).cookie, wire_.sent[message].data.size()});
    return poll();
  }
  std::uint64_t poll() {
    Completion done[1];
    return channel_.poll(done) == 0 ? 0 : done[0].cookie;
  }
  /// In pinned memory: bytes that the test left there are where nothing was copied.
  void mark() { std::ranges::fill(staged_, std::byte{0xee}); }
  [[nodiscard]] std::string staged() const {
    std::string text;
    for (const std::byte byte : staged_)
      text += byte == std::byte{0xee} ? '.' : char('0' + int(byte));
    return text;
  }
  [[nodiscard]] std::span<std::byte> device_words() const {
    return {static_cast<std::byte*>(words_.data()), words_bytes};
  }

  const WithDevice device_;
  std::shared_ptr<DeviceWork> work_ = DeviceWork::make(tested_device(), 0);
  const DeviceWork::Use use_{work_.get()};
  DeviceVector words_{words_bytes};
  MemoryArray<std::byte> pinned_{work_->pinned(), words_bytes};
  std::span<std::byte> staged_{pinned_.data(), words_bytes};
  Wire wire_;
  DeviceChannel channel_{std::make_unique<PatientChannel>(wire_),
                         *work_,
                         {.words = device_words(), .staged = staged_.data()}};
};

TEST_F(DeviceStaging, LeavesAloneWhatAReceiverMayBeReading) {
  const std::string open(16, '.'), copied(16, '1');
  mark();
  send(16, 16, 7);
  EXPECT_EQ(staged(), open + copied + open + open);
  mark();
  send(16, 16, 8);  // the same words to somebody else
  EXPECT_EQ(staged(), open + open + open + open);
  send(0, 64, 9);  // and more
  EXPECT_EQ(staged(), copied + open + copied + copied);
  mark();
  send(8, 32, 10);
  EXPECT_EQ(staged(), open + open + open + open);
}

TEST_F(DeviceStaging, CopiesAgainWhatNobodyReadsAnyMore) {
  mark();
  send(0, 32, 7);
  send(16, 32, 8);
  EXPECT_EQ(complete(0), 7u);
  fill(2);
  send(0, 16, 9);
  EXPECT_EQ(staged(), std::string(16, '2') + std::string(32, '1') + std::string(16, '.'));
  EXPECT_EQ(complete(1), 8u);
  EXPECT_EQ(complete(2), 9u);
  mark();
  send(0, 64, 10);
  EXPECT_EQ(staged(), std::string(64, '2'));
  EXPECT_EQ(complete(3), 10u);
}

TEST_F(DeviceStaging, EmptyMessagesHaveCookiesToo) {
  send(64, 0, 7);
  send(0, 0, 8);
  EXPECT_EQ(complete(1), 8u);
  EXPECT_EQ(complete(0), 7u);
}

}  // namespace
}  // namespace cohom::test
