// The packets and messages of docs/offload-protocol.md, byte by byte.

#include "aggregation/client/send_window.hpp"
#include "aggregation/protocol/admission.hpp"
#include "aggregation/protocol/control_message.hpp"
#include "aggregation/protocol/hello.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <span>
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
  SendWindow window(64, 4, 384);
  ReductionSequence reductions{.call = 0x0102030405060708, .round = 2, .announced = 2};
  window.enter(reductions);
  std::vector<std::uint64_t> words(1000);
  reductions.start(std::vector<std::uint64_t>(), {}, cohom_merge_add, 0);
  reductions.start(words, words, cohom_merge_max, 1);
  SendWindow::Flight* flight = nullptr;
  for (int i = 0; i < 3; ++i) flight = window.cut();
  ASSERT_NE(flight, nullptr);
  cohom_header packet = make_hello({.job = 0x1112131415161718,
                                    .epoch = 0x2122232425262728,
                                    .key = 0x3132333435363738,
                                    .group = 3,
                                    .worker = 5,
                                    .own_group = 9,
                                    .nonce = 0x4142434445464748});
  EXPECT_EQ(hex(&packet, sizeof packet),
            "636f686102040000 1817161514131211 2827262524232221 3837363534333231 "
            "0300050000000000 4847464544434241 0000000000000000 0900000000000000");
  window.describe(*flight, packet);
  EXPECT_EQ(hex(&packet, sizeof packet),
            "636f686102010200 1817161514131211 2827262524232221 3837363534333231 "
            "030005004200e800 0000000000030000 0100000002000000 0807060504030201");
}

TEST(OffloadPacket, UsesOfSlotsFollowFromWhatIsSummed) {
  SendWindow window(0, 2, 1);
  ReductionSequence first{.call = 1, .round = 0, .announced = 1};
  ReductionSequence second{.call = 2, .round = 0, .announced = 2};
  ReductionSequence skipped{.call = 3, .round = 0, .announced = 1};
  ReductionSequence third{.call = 4, .round = 0, .announced = 1};
  window.enter(first), window.enter(second), window.enter(skipped), window.enter(third);
  std::vector<std::uint64_t> words(3);
  // What comes later in the order waits, whatever starts first.
  third.start(words, words, cohom_merge_add, 0);
  second.start(words, words, cohom_merge_add, 0);
  EXPECT_EQ(window.cut(), nullptr);
  first.start(words, words, cohom_merge_add, 0);
  std::vector<std::string> seen;
  const auto next = [&] {
    SendWindow::Flight* const flight = window.cut();
    if (flight == nullptr) return false;
    cohom_header packet{};
    window.describe(*flight, packet);
    seen.push_back(std::to_string(packet.call) + ":" + std::to_string(packet.offset) + "@" +
                   std::to_string(packet.slot) + "." + std::to_string(packet.sequence));
    packet.kind = cohom_sum;
    EXPECT_EQ(window.find(packet), flight);
    ++packet.offset;
    EXPECT_EQ(window.find(packet), nullptr);
    const std::uint64_t sum = 7;
    window.complete(*flight, std::as_bytes(std::span(&sum, 1)));
    --packet.offset;
    EXPECT_EQ(window.find(packet), nullptr);
    return true;
  };
  while (next()) {
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"1:0@0.0", "1:1@1.0", "1:2@0.1", "2:0@1.1", "2:1@0.2",
                                            "2:2@1.2"}));
  second.start(std::span(words).first(1), words, cohom_merge_add, 0);
  window.leave(skipped);
  seen.clear();
  while (next()) {
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"2:0@0.3", "4:0@1.3", "4:1@0.4", "4:2@1.4"}));
  EXPECT_EQ(second.completed, 2u);
}

TEST(OffloadPacket, ASlotIsUsedAgainOnlyWhenItsSumIsThere) {
  SendWindow window(0, 2, 1);
  ReductionSequence reductions{.announced = 1};
  window.enter(reductions);
  std::vector<std::uint64_t> words(3);
  reductions.start(words, words, cohom_merge_add, 0);
  SendWindow::Flight* const first = window.cut();
  SendWindow::Flight* const second = window.cut();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(window.cut(), nullptr);
  const std::uint64_t sum = 7;
  window.complete(*second, std::as_bytes(std::span(&sum, 1)));
  EXPECT_EQ(window.cut(), nullptr);  // in order
  window.complete(*first, std::as_bytes(std::span(&sum, 1)));
  EXPECT_NE(window.cut(), nullptr);
}

TEST(ControlMessage, ComesBackAsItWas) {
  const std::vector<Message> messages{Begin{.nonce = {1, 2}},
                                      Challenge{.nonce = {3}},
                                      Proof{Credential::token, {4}},
                                      Welcome{{5}},
                                      Join{.job = {1, 255},
                                           .group = 2,
                                           .worker = 3,
                                           .workers = 4,
                                           .payload_bytes = 5,
                                           .message_bytes = 7,
                                           .slots = 6},
                                      JoinChallenge{3, {6}},
                                      JoinProof{3, {7, 8}},
                                      Admitted{.kind = "ebpf",
                                               .number = 1,
                                               .epoch = ~2ull,
                                               .key = ~3ull,
                                               .payload_bytes = 3,
                                               .slots = 4,
                                               .merges = 5,
                                               .takes_narrow = 1,
                                               .data_address = ":47000",
                                               .ucx_address = {{1, 13, 1}, ~1ull, "where"}},
                                      Ready{},
                                      Go{},
                                      Refused{Refusal::lock_failed, "later"},
                                      StatusRequest{{9}, {10}},
                                      Status{"{}"},
                                      WorkerAddress{{{1, 2, 3}, 4, std::string("\0x", 2)}},
                                      MungeCredential{"MUNGE:11:"}};
  std::string all;
  for (const Message& message : messages) all += encode(message);
  for (std::size_t step : {1, 7, 1000}) {
    MessageReader reader(max_request_bytes);
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
  EXPECT_EQ(hex(ready.data(), ready.size()), "080000000a000000");
  const std::string refused = encode(Refused{Refusal::wrong_token, "no"});
  EXPECT_EQ(hex(refused.data(), refused.size()), "1200000005000000 0400000002000000 6e6f");
}

TEST(ControlMessage, OtherVersionsAreKnownByTheirNumber) {
  const std::string bytes = encode(Begin{.nonce = {1}});
  EXPECT_EQ(hex(bytes.data(), 16), "2c00000001000000 0300000001000000");
  // What version 2 began with: a join, of other fields.
  MessageReader reader(max_request_bytes);
  reader.append(std::string("\x12\0\0\0\1\0\0\0\2\0\0\0secret", 18));
  const auto message = reader.next();
  ASSERT_TRUE(message && std::holds_alternative<Begin>(*message));
  EXPECT_EQ(std::get<Begin>(*message).version, 2u);
}

TEST(ControlMessage, TextsAreFreeOfControlCharacters) {
  MessageReader reader(max_request_bytes);
  reader.append(encode(Refused{Refusal::gone, "a\x1b]0;owned\x07\n\x9b~ \x7f"}));
  EXPECT_EQ(std::get<Refused>(*reader.next()).text, "a?]0;owned???~ ?");
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
        word(8) + word(0), word(8) + word(14), word(8) + word(1), word(9) + word(10) + "x",
        word(12) + word(1) + word(3), word(43) + word(3) + word(0) + std::string(31, 'm'),
        word(16) + word(13) + word(~0u) + "abcd", word(16) + word(13) + word(3) + "abcd"})
    EXPECT_THROW(read(bad), Error) << hex(bad.data(), bad.size());
}

TEST(Admission, EveryFieldIsChecked) {
  const Admitted right{.kind = "ebpf",
                       .number = 0xffff,
                       .epoch = ~0ull,
                       .key = 1,
                       .payload_bytes = 1000,
                       .slots = 64,
                       .merges = 7,
                       .takes_narrow = 1,
                       .data_address = ":1",
                       .ucx_address = {}};
  const AskedFor asked{.payload_bytes = 1000, .slots = 64};
  EXPECT_NO_THROW(check_admitted(right, asked));
  const auto why = [&](auto change) -> std::string {
    Admitted wrong = right;
    change(wrong);
    try {
      check_admitted(wrong, asked);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  using A = Admitted;
  EXPECT_EQ(why([](A& a) { a.number = 0x10000; }),
            "an admission whose group number is 65536; it should be 0 to 65535");
  EXPECT_EQ(why([](A& a) { a.epoch = 0; }),
            "an admission whose epoch is 0; it should be another number");
  EXPECT_EQ(why([](A& a) { a.key = 0; }),
            "an admission whose key is 0; it should be another number");
  EXPECT_EQ(why([](A& a) { a.payload_bytes = 1008; }),
            "an admission whose payload is 1008; it should be 8 to 1000");
  EXPECT_NE(why([](A& a) { a.payload_bytes = 0; }), "");
  EXPECT_EQ(why([](A& a) { a.payload_bytes = 12; }),
            "an admission whose payload is 12; it should be whole words");
  EXPECT_EQ(why([](A& a) { a.slots = 0xffffffff; }),
            "an admission whose number of slots is 4294967295; it should be 1 to 64");
  EXPECT_NE(why([](A& a) { a.slots = 0; }), "");
  EXPECT_NE(why([](A& a) { a.takes_narrow = 2; }), "");
}

TEST(ControlMessage, AddressesOfUcxAreChecked) {
  const UcxVersion own{1, 13, 1};
  const std::string text = "somewhere";
  const UcxAddress right = make_ucx_address({1, 13, 0}, std::as_bytes(std::span(text)));
  EXPECT_EQ(checked_bytes(right, own, "worker 3").size(), text.size());
  const auto error_of = [&](const std::function<void(UcxAddress&)>& change) -> std::string {
    UcxAddress wrong = right;
    change(wrong);
    try {
      checked_bytes(wrong, own, "worker 3");
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(error_of([](UcxAddress& a) {
              a.version = {1, 14, 1};
            }),
            "worker 3 runs UCX 1.14.1 and this process UCX 1.13.1; both must have the same major "
            "and minor version");
  EXPECT_EQ(error_of([](UcxAddress& a) {
              a.version = {2, 13, 1};
            }).substr(0, 23),
            "worker 3 runs UCX 2.13.");
  const std::string wrong_sum = "worker 3 gave a UCX address whose checksum is wrong";
  EXPECT_EQ(error_of([](UcxAddress& a) { ++a.bytes[2]; }), wrong_sum);
  EXPECT_EQ(error_of([](UcxAddress& a) { a.bytes.pop_back(); }), wrong_sum);
  EXPECT_EQ(error_of([](UcxAddress& a) { a.checksum ^= 1ull << 63; }), wrong_sum);
  EXPECT_EQ(error_of([](UcxAddress& a) { a.bytes.clear(); }),
            "worker 3 gave a UCX address of 0 bytes; it must have 1 to 8192");
  EXPECT_EQ(error_of([](UcxAddress& a) { a.bytes.resize(8193); }),
            "worker 3 gave a UCX address of 8193 bytes; it must have 1 to 8192");
}

}  // namespace
}  // namespace cohom::offload
