// The packets and messages of docs/offload-protocol.md, byte by byte.

#include "offload/control_message.hpp"
#include "offload/hello.hpp"
#include "offload/slot_line.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace cohom::offload {
namespace {

std::string hex(const void* data, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    constexpr const char* digits = "0123456789abcdef";
    const auto byte = static_cast<const unsigned char*>(data)[i];
    if (i != 0 && i % 8 == 0) text += ' ';
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

TEST(OffloadPacket, Contribution) {
  SlotLine line(64, 4, 384);
  ReductionStream stream{.call = 0x0102030405060708, .round = 2, .announced = 2};
  line.enter(stream);
  std::vector<std::uint64_t> words(1000);
  stream.start(std::vector<std::uint64_t>(), {}, cohom_merge_add, 0);
  stream.start(words, words, cohom_merge_max, 1);
  SlotLine::Flight* flight = nullptr;
  for (int i = 0; i < 3; ++i) flight = line.cut();
  ASSERT_NE(flight, nullptr);
  cohom_header packet = make_hello(0x1112131415161718, 3, 0xaabbccdd, 5, 9);
  EXPECT_EQ(hex(&packet, sizeof packet),
            "636f686101040000 1817161514131211 03000000ddccbbaa 0500000000000000 "
            "0000000000000000 0000000000000000 0900000000000000");
  line.describe(*flight, packet);
  EXPECT_EQ(hex(&packet, sizeof packet),
            "636f686101010200 1817161514131211 03000000ddccbbaa 05004200e8000000 "
            "0000000000030000 0100000002000000 0807060504030201");
}

TEST(OffloadPacket, UsesOfSlotsFollowFromWhatIsSummed) {
  SlotLine line(0, 2, 1);
  ReductionStream first{.call = 1, .round = 0, .announced = 1};
  ReductionStream second{.call = 2, .round = 0, .announced = 2};
  ReductionStream skipped{.call = 3, .round = 0, .announced = 1};
  ReductionStream third{.call = 4, .round = 0, .announced = 1};
  line.enter(first), line.enter(second), line.enter(skipped), line.enter(third);
  std::vector<std::uint64_t> words(3);
  // What comes later in the order waits, whatever starts first.
  third.start(words, words, cohom_merge_add, 0);
  second.start(words, words, cohom_merge_add, 0);
  EXPECT_EQ(line.cut(), nullptr);
  first.start(words, words, cohom_merge_add, 0);
  std::vector<std::string> seen;
  const auto next = [&] {
    SlotLine::Flight* const flight = line.cut();
    if (flight == nullptr) return false;
    cohom_header packet{};
    line.describe(*flight, packet);
    seen.push_back(std::to_string(packet.call) + ":" + std::to_string(packet.offset) + "@" +
                   std::to_string(packet.slot) + "." + std::to_string(packet.use));
    packet.kind = cohom_sum;
    EXPECT_EQ(line.find(packet), flight);
    ++packet.offset;
    EXPECT_EQ(line.find(packet), nullptr);
    const std::uint64_t sum = 7;
    line.finish(*flight, std::as_bytes(std::span(&sum, 1)));
    --packet.offset;
    EXPECT_EQ(line.find(packet), nullptr);
    return true;
  };
  while (next()) {
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"1:0@0.0", "1:1@1.0", "1:2@0.1", "2:0@1.1", "2:1@0.2",
                                            "2:2@1.2"}));
  second.start(std::span(words).first(1), words, cohom_merge_add, 0);
  line.leave(skipped);
  seen.clear();
  while (next()) {
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"2:0@0.3", "4:0@1.3", "4:1@0.4", "4:2@1.4"}));
  EXPECT_EQ(second.finished, 2u);
}

TEST(OffloadPacket, ASlotIsUsedAgainOnlyWhenItsSumIsThere) {
  SlotLine line(0, 2, 1);
  ReductionStream stream{.announced = 1};
  line.enter(stream);
  std::vector<std::uint64_t> words(3);
  stream.start(words, words, cohom_merge_add, 0);
  SlotLine::Flight* const first = line.cut();
  SlotLine::Flight* const second = line.cut();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(line.cut(), nullptr);
  const std::uint64_t sum = 7;
  line.finish(*second, std::as_bytes(std::span(&sum, 1)));
  EXPECT_EQ(line.cut(), nullptr);  // in order
  line.finish(*first, std::as_bytes(std::span(&sum, 1)));
  EXPECT_NE(line.cut(), nullptr);
}

TEST(ControlMessage, ComesBackAsItWas) {
  const std::vector<Message> messages{Join{.token = "secret",
                                           .job = ~0ull,
                                           .group = 2,
                                           .worker = 3,
                                           .workers = 4,
                                           .payload_bytes = 5,
                                           .message_bytes = 7,
                                           .slots = 6},
                                      Admitted{.kind = "ebpf",
                                               .number = 1,
                                               .epoch = 2,
                                               .payload_bytes = 3,
                                               .slots = 4,
                                               .merges = 5,
                                               .takes_narrow = 1,
                                               .data_address = ":47000"},
                                      Ready{},
                                      Go{},
                                      Refused{Refusal::lock_failed, "later"},
                                      StatusRequest{"secret"},
                                      Status{"{}"}};
  std::string all;
  for (const Message& message : messages) all += encode(message);
  for (std::size_t step : {1, 7, 1000}) {
    MessageReader reader(most_request_bytes);
    std::vector<Message> read;
    for (std::size_t i = 0; i < all.size(); i += step) {
      const auto part = all.substr(i, step);
      reader.append(part);
      while (auto message = reader.next()) read.push_back(*message);
    }
    EXPECT_TRUE(read == messages) << step;
  }
}

TEST(ControlMessage, Bytes) {
  const std::string ready = encode(Ready{});
  EXPECT_EQ(hex(ready.data(), ready.size()), "0800000003000000");
  const std::string refused = encode(Refused{Refusal::wrong_token, "no"});
  EXPECT_EQ(hex(refused.data(), refused.size()), "1200000005000000 0400000002000000 6e6f");
}

TEST(ControlMessage, GarbageIsAnError) {
  const auto read = [](std::string bytes) {
    MessageReader reader(100);
    reader.append(bytes);
    return reader.next();
  };
  const auto word = [](std::uint32_t value) {
    return std::string(reinterpret_cast<const char*>(&value), 4);
  };
  EXPECT_FALSE(read(word(8)));
  for (const auto& bad :
       {word(0) + word(1), word(7) + word(3), word(101) + word(3), word(~0u) + word(3),
        word(8) + word(0), word(8) + word(8), word(8) + word(1), word(9) + word(3) + "x",
        word(16) + word(6) + word(~0u) + "abcd", word(16) + word(6) + word(3) + "abcd"})
    EXPECT_THROW(read(bad), Error) << hex(bad.data(), bad.size());
}

TEST(ControlMessage, Tokens) {
  EXPECT_TRUE(same_token("secret", "secret"));
  for (const char* wrong : {"", "secre", "secrets", "Secret", "secreT", "secretsecret"})
    EXPECT_FALSE(same_token(wrong, "secret")) << wrong;
  EXPECT_FALSE(same_token("", ""));
}

}  // namespace
}  // namespace cohom::offload
