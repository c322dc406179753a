// Node windows: what the transport contract does not ask of them.

#include "agreement/agreement_words.hpp"
#include "agreement/call_board.hpp"
#include "base/file_descriptor.hpp"
#include "forked_ranks.hpp"
#include "node_window/node_meeting.hpp"
#include "node_window/node_transport.hpp"
#include "node_window/window_heap.hpp"
#include "one_node_transport.hpp"
#include "testing/loopback_transport.hpp"
#include "transport/exchange.hpp"
#include "transport_driver.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20;

TEST(WindowHeap, GivesEachByteOnce) {
  WindowHeap heap(8 * huge_page);
  const auto first = heap.take(1), second = heap.take(page + 1), third = heap.take(huge_page);
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(*first, 0u);
  EXPECT_EQ(*second, page);
  EXPECT_EQ(*third, huge_page) << "long ranges begin at a huge page";
  EXPECT_EQ(heap.take(page), 3 * page) << "what was skipped for that is free";
  EXPECT_FALSE(heap.take(8 * huge_page));
  EXPECT_FALSE(heap.take(std::numeric_limits<std::size_t>::max()));
}

TEST(WindowHeap, JoinsWhatComesBack) {
  for (const bool forwards : {true, false}) {
    WindowHeap heap(4 * page);
    std::vector<std::size_t> ranges;
    for (int i = 0; i < 4; ++i) ranges.push_back(heap.take(page).value());
    EXPECT_FALSE(heap.take(1));
    if (!forwards) std::ranges::reverse(ranges);
    for (const std::size_t range : ranges) heap.give_back(range, page);
    EXPECT_EQ(heap.take(4 * page), 0u);
  }
}

/// Whether the system maps pages ahead (Linux 5.14), of the size that windows count with.
bool maps_pages_ahead() {
#ifdef MADV_POPULATE_READ
  alignas(page) static std::byte probe[page];
  return sysconf(_SC_PAGESIZE) == long{page} && madvise(probe, page, MADV_POPULATE_READ) == 0;
#else
  return false;
#endif
}

/// How many pages of the board of the window that is mapped here are in this process's tables.
/// None: the system does not say.
std::optional<std::size_t> mapped_pages(const MappedMemory& window, const WindowLayout& layout) {
  const offload::FileDescriptor tables(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  const auto board = reinterpret_cast<std::uintptr_t>(window.data()) + layout.board();
  const std::size_t first = board / page, last = (board + layout.board_bytes() - 1) / page;
  std::vector<std::uint64_t> entries(last - first + 1);
  const std::size_t size = entries.size() * sizeof entries[0];
  const auto offset = static_cast<off_t>(first * sizeof entries[0]);
  if (pread(tables.get(), entries.data(), size, offset) != static_cast<ssize_t>(size))
    return std::nullopt;
  return static_cast<std::size_t>(
      std::ranges::count_if(entries, [](std::uint64_t entry) { return entry >> 63 != 0; }));
}

std::size_t pages_of_board(const WindowLayout& layout) {
  return (layout.board() + layout.board_bytes() - 1) / page - layout.board() / page + 1;
}

TEST(MappedMemory, MapsPagesBeforeTheyAreUsed) {
  if (!maps_pages_ahead()) GTEST_SKIP() << "the system maps no pages ahead";
  const NodeWindow window(2);
  const WindowLayout& layout = window.layout();
  for (const bool writable : {true, false}) {
    const MappedMemory memory(window.fd(), window.bytes(), writable);
    const auto before = mapped_pages(memory, layout);
    if (!before) GTEST_SKIP() << "/proc/self/pagemap cannot be read";
    EXPECT_LT(*before, pages_of_board(layout)) << "nobody has touched them";
    memory.map_pages(layout.board(), layout.board_bytes());
    EXPECT_EQ(mapped_pages(memory, layout), pages_of_board(layout))
        << (writable ? "to write" : "to read");
  }
}

/// Two ranks of one node in one thread.
class TwoRanks : public ::testing::Test {
 protected:
  LoopbackHub hub_{2, {.nodes = {0, 0}, .node_windows = true}};
  std::shared_ptr<Transport> left_ = hub_.transport(0), right_ = hub_.transport(1);

  /// Polls both until all requests are complete.
  static void finish(std::vector<std::pair<Driver*, std::uint64_t>> requests) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!requests.empty() && std::chrono::steady_clock::now() < deadline) {
      for (const auto& [driver, cookie] : requests) driver->poll();
      std::erase_if(requests,
                    [](const auto& request) { return request.first->is_done(request.second); });
    }
    EXPECT_TRUE(requests.empty()) << "requests hang";
  }
};

TEST_F(TwoRanks, ReadWordsThatAreLent) {
  const auto memory = left_->take_memory(300000);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->bytes().size(), 300000u);
  for (const std::byte byte : memory->bytes()) ASSERT_EQ(byte, std::byte{0});
  const auto sent = pattern(300000, 5);
  std::ranges::copy(sent, memory->bytes().begin());
  const auto a = left_->open(0), b = right_->open(0);
  Driver from(*a), to(*b);
  const auto send = from.send(memory->bytes(), 1, 3);
  for (int i = 0; i < 10; ++i) from.poll();
  EXPECT_FALSE(from.is_done(send)) << "nobody has taken the words";
  std::vector<std::byte> received(300000);
  finish({{&from, send}, {&to, to.receive(received, 0, 3)}});
  EXPECT_TRUE(received == sent);
}

TEST_F(TwoRanks, ReadWordsWhereTheyLie) {
  const auto memory = left_->take_memory(4000);
  const auto sent = pattern(4000, 5);
  std::ranges::copy(sent, memory->bytes().begin());
  for (const bool copied : {false, true}) {
    const std::span<const std::byte> data = copied ? std::span(sent) : memory->bytes();
    const auto a = left_->open(0), b = right_->open(0);
    std::vector<std::byte> buffer(4096, std::byte{7});
    std::vector<Completion> out(4);
    b->receive_or_lend(buffer, 0, 0, 11);
    a->send(data, 1, 0, 12);
    while (b->poll(out) == 0) {
    }
    EXPECT_EQ(out[0].cookie, 11u);
    ASSERT_EQ(out[0].bytes, 4000u);
    const std::byte* const lent = out[0].lent;
    ASSERT_TRUE(lent != nullptr);
    EXPECT_TRUE(std::ranges::equal(std::span(lent, 4000), sent));
    EXPECT_EQ(buffer, std::vector<std::byte>(4096, std::byte{7}));
    EXPECT_EQ(a->poll(out), copied ? 1u : 0u) << "the words may still be read";
    b->give_back(lent);
    EXPECT_EQ(a->poll(out), copied ? 0u : 1u);
    EXPECT_TRUE(a->flushed());
  }
}

TEST_F(TwoRanks, CopyWhatCannotBeReadWhereItLies) {
  const auto memory = left_->take_memory(600000);
  const auto sent = pattern(600000, 5);
  std::ranges::copy(sent, memory->bytes().begin());
  const std::span<const std::byte> odd = memory->bytes().subspan(4, 2000);
  const auto expect_copied = [&](std::span<const std::byte> data) {
    const auto a = left_->open(0), b = right_->open(0);
    std::vector<std::byte> buffer(data.size());
    std::vector<Completion> out(4), ignored(4);
    b->receive_or_lend(buffer, 0, 0, 11);
    a->send(data, 1, 0, 12);
    while (b->poll(out) == 0) a->poll(ignored);
    EXPECT_TRUE(out[0].lent == nullptr) << data.size() << " bytes";
    EXPECT_TRUE(std::ranges::equal(buffer, data));
    while (a->poll(ignored) == 0 && data.data() == odd.data()) {
    }
  };
  expect_copied(odd);
  expect_copied({});
  expect_copied(std::span(sent).first(40));  // in its descriptor
  expect_copied(sent);                       // in parts
}

TEST_F(TwoRanks, LearnThatWordsBecameVoidWhileTheyWereRead) {
  const auto memory = left_->take_memory(4000);
  const auto b = right_->open(0);
  std::vector<std::byte> buffer(4000);
  std::vector<Completion> out(4);
  b->receive_or_lend(buffer, 0, 0, 0);
  {
    const auto a = left_->open(0);
    a->send(memory->bytes(), 1, 0, 0);
    while (b->poll(out) == 0) {
    }
  }
  EXPECT_THROW(b->give_back(out[0].lent), Error);
}

TEST_F(TwoRanks, GiveMemoryBack) {
  const std::byte* const first = left_->take_memory(5000)->bytes().data();
  const auto again = left_->take_memory(5000);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->bytes().data(), first);
  std::memset(again->bytes().data(), 1, 5000);
  const auto other = left_->take_memory(5000);
  EXPECT_NE(other->bytes().data(), first);
}

TEST_F(TwoRanks, HaveMemoryLongerThanTheirTransport) {
  auto memory = left_->take_memory(5000);
  left_.reset();
  std::memset(memory->bytes().data(), 1, 5000);
  EXPECT_EQ(memory->bytes()[4999], std::byte{1});
}

// What nobody asked for yet must not keep room from what somebody waits for: of entries of the
// ring, of marks, or of slots.
TEST_F(TwoRanks, GetMessagesBehindThoseThatNobodyWaitsFor) {
  for (const std::size_t bytes : {8u, 3000u, 200000u}) {
    for (const bool lent : {false, true}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes" + (lent ? ", lent" : ""));
      const auto memory = left_->take_memory(bytes);
      const auto sent = pattern(bytes, 1);
      std::ranges::copy(sent, memory->bytes().begin());
      const std::span<const std::byte> data = lent ? memory->bytes() : std::span(sent);
      const auto a = left_->open(1), b = right_->open(1);
      Driver from(*a), to(*b);
      std::vector<std::pair<Driver*, std::uint64_t>> requests;
      constexpr std::size_t count = 600;
      for (std::size_t i = 0; i < count; ++i) requests.emplace_back(&from, from.send(data, 1, 1));
      std::vector<std::byte> received(bytes);
      const auto send = from.send(data, 1, 2);
      finish({{&from, send}, {&to, to.receive(received, 0, 2)}});
      EXPECT_TRUE(received == sent);
      std::vector<std::vector<std::byte>> early(count, std::vector<std::byte>(bytes));
      for (auto& buffer : early) requests.emplace_back(&to, to.receive(buffer, 0, 1));
      finish(requests);
      for (const auto& buffer : early) ASSERT_TRUE(buffer == sent);
    }
  }
}

// Whoever reads words where they lie may wait for another message before it gives them back. That
// message must find room: marks, slots, and as many side by side as a long part takes.
TEST_F(TwoRanks, GetMessagesBehindThoseThatAreReadWhereTheyLie) {
  struct Case {
    std::size_t bytes, count, long_bytes;
    bool in_window;
  };
  for (const Case& c : {Case{256 << 10, 40, 600000, false}, Case{4000, 100, 600000, false},
                        Case{100000, 100, 600000, false}, Case{2000, 600, 3000, true}}) {
    SCOPED_TRACE(std::to_string(c.bytes) + " bytes" + (c.in_window ? ", in the window" : ""));
    const auto memory = left_->take_memory(c.long_bytes);
    const auto sent = pattern(c.long_bytes, 1);
    std::ranges::copy(sent, memory->bytes().begin());
    const auto data = c.in_window ? memory->bytes() : std::span<const std::byte>(sent);
    const auto a = left_->open(1), b = right_->open(1), d = right_->open(2);
    const auto other = left_->open(2);
    Driver from(*a), other_from(*other), to(*d);
    std::vector<std::vector<std::byte>> buffers(c.count, std::vector<std::byte>(c.bytes));
    for (std::size_t i = 0; i < c.count; ++i) {
      b->receive_or_lend(buffers[i], 0, 1, i);
      from.send(data.first(c.bytes), 1, 1);
    }
    std::vector<std::byte> received(c.long_bytes);
    const auto send = other_from.send(data, 1, 2), receive = to.receive(received, 0, 2);
    std::vector<Completion> out(16), all;
    for (int polls = 0; polls < 100000 && !(to.is_done(receive) && all.size() == c.count);
         ++polls) {
      from.poll();
      other_from.poll();
      to.poll();
      all.insert(all.end(), out.begin(), out.begin() + std::ptrdiff_t(b->poll(out)));
    }
    ASSERT_TRUE(to.is_done(receive)) << all.size() << " messages are read where they lie";
    EXPECT_TRUE(received == sent);
    EXPECT_EQ(all.size(), c.count);
    EXPECT_TRUE(std::ranges::any_of(all, [](const Completion& each) { return each.lent; }));
    EXPECT_FALSE(std::ranges::all_of(all, [](const Completion& each) { return each.lent; }));
    for (const Completion& each : all) {
      const auto* const from_where = each.lent ? each.lent : buffers[each.cookie].data();
      EXPECT_TRUE(std::equal(from_where, from_where + c.bytes, sent.begin()));
      if (each.lent) b->give_back(each.lent);
    }
    finish({{&other_from, send}});
  }
}

TEST_F(TwoRanks, LearnThatWordsBecameVoid) {
  const auto memory = left_->take_memory(1000);
  const auto b = right_->open(4);
  {
    const auto a = left_->open(4);
    a->send(memory->bytes(), 1, 0, 0);
    EXPECT_TRUE(a->give_up());
  }
  EXPECT_TRUE(left_->failure()) << "a later call could take its messages for its own";
  std::vector<std::byte> received(1000);
  b->receive(received, 0, 0, 0);
  std::vector<Completion> out(4);
  try {
    for (int i = 0; i < 10; ++i) b->poll(out);
    ADD_FAILURE() << "words of a call that ended early were taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 0 ended its call"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(b->give_up());
  EXPECT_TRUE(right_->failure()) << "the call ended early on this rank, too";
}

// The receiver copies what nobody asked for to make room, when the call that it is of has ended.
TEST_F(TwoRanks, GetTheNextCallsMessagesBehindThoseOfACallThatEnded) {
  const auto memory = left_->take_memory(1000);
  {
    const auto a = left_->open(6);
    for (std::uint64_t i = 0; i < 300; ++i) a->send(memory->bytes(), 1, 0, i);  // more than marks
    EXPECT_TRUE(a->give_up());
  }
  const auto old_call = right_->open(6), a = left_->open(7), b = right_->open(7);
  Driver from(*a), to(*b);
  const auto sent = pattern(1024, 1);
  std::vector<std::byte> received(1024);
  finish({{&to, to.receive(received, 0, 0)}, {&from, from.send(sent, 1, 0)}});
  EXPECT_TRUE(received == sent);
  old_call->receive(received, 0, 0, 0);
  std::vector<Completion> out(4);
  EXPECT_THROW(for (int i = 0; i < 10; ++i) old_call->poll(out), Error) << "its words are void";
}

TEST_F(TwoRanks, EndAChannelWithReceivesAtOnce) {
  std::vector<std::byte> buffer(1000, std::byte{7});
  {
    const auto b = right_->open(5);
    EXPECT_TRUE(b->ends_at_once());
    b->receive(buffer, 0, 0, 0);
    EXPECT_TRUE(b->give_up());
  }
  EXPECT_TRUE(right_->failure());
  const auto a = left_->open(5);
  const auto sent = pattern(1000, 1);
  Driver from(*a);
  from.send(sent, 1, 0);
  from.finish();
  const auto c = right_->open(5);
  std::vector<Completion> out(4);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(c->poll(out), 0u);
  EXPECT_EQ(buffer, std::vector<std::byte>(1000, std::byte{7}));
}

class TwoWindows : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("COHOM_TOPOLOGY");
    peers_.push_back(std::make_shared<NodeWindow>(2));
    peers_.push_back(std::make_shared<NodeWindow>(2));
  }

  /// Of rank 0.
  NodeWindows windows_of_both() const {
    NodeWindows windows;
    windows.window = peers_[0];
    for (int rank = 0; rank < 2; ++rank)
      windows.peers.push_back(
          {.rank = rank, .window = std::make_unique<PeerWindow>(*peers_[rank])});
    return windows;
  }

  std::vector<std::shared_ptr<NodeWindow>> peers_;
};

TEST_F(TwoWindows, HaveTheirBoardsMappedWhereTheyAreTaken) {
  if (!maps_pages_ahead()) GTEST_SKIP() << "the system maps no pages ahead";
  NodeTransport transport(std::make_shared<test::OneNodeTransport>(0, 2), windows_of_both());
  ASSERT_NE(transport.take_board(), nullptr);
  for (const auto& window : peers_) {
    const auto mapped = mapped_pages(*window->memory(), window->layout());
    if (!mapped) GTEST_SKIP() << "/proc/self/pagemap cannot be read";
    EXPECT_EQ(*mapped, pages_of_board(window->layout()));
  }
}

/// A rank whose ring says what it must not.
class LyingRank : public TwoWindows {
 protected:
  /// The error that rank 0 gets of a descriptor in the ring of rank 1.
  std::string error_of(std::uint64_t turn, std::uint64_t head, std::uint64_t bytes,
                       std::uint64_t offset, std::uint64_t mark) {
    NodeTransport transport(std::make_shared<test::OneNodeTransport>(0, 2), windows_of_both());
    auto& words = peers_[1]->at<RingEntry>(peers_[1]->layout().ring(0))->words;
    words[1] = head;
    words[2] = bytes;
    words[3] = offset;
    words[4] = mark | 1ull << 32;  // its first use
    words[0] = turn;
    const auto channel = transport.open(0);
    std::vector<std::byte> buffer(100);
    channel->receive(buffer, 1, 0, 0);
    std::vector<Completion> out(4);
    try {
      for (int i = 0; i < 3; ++i) channel->poll(out);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::transport);
      EXPECT_TRUE(transport.failure());
      EXPECT_THROW(channel->poll(out), Error) << "and ever after";
      return error.what();
    }
    return {};
  }
  static bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  }

  static constexpr std::uint64_t last = 1ull << 49, carried = 1ull << 48;
};

TEST_F(LyingRank, IsFoundOut) {
  const std::uint64_t size = peers_[1]->bytes();
  EXPECT_EQ(error_of(1, last, 60, size - 60, 0), "") << "all is right, up to the last byte";
  EXPECT_TRUE(has(error_of(1, last, 60, size - 59, 0), "offset"));
  EXPECT_TRUE(has(error_of(1, last, 60, size + 1, 0), "offset"));
  EXPECT_TRUE(has(error_of(1, last, 60, ~0ull - 10, 0), "offset"));
  EXPECT_TRUE(has(error_of(1, last, ~0ull, 10, 0), "offset"));
  EXPECT_TRUE(has(error_of(1, last, 60, 0, window_marks), "a mark"));
  EXPECT_TRUE(has(error_of(1, last | Transport::tag_limit, 60, 0, 0), "a tag"));
  EXPECT_TRUE(has(error_of(1, last | 16ull << 32, 60, 0, 0), "channel 16"));
  EXPECT_TRUE(has(error_of(1, last | carried | 49ull << 56, 0, 0, 0), "a length"));
  EXPECT_TRUE(has(error_of(1ull << 40, last, 60, 0, 0), "turn"));
}

// Rank 1 says that it took more messages than there were.
TEST_F(LyingRank, IsFoundOutByItsReceipts) {
  NodeTransport transport(std::make_shared<test::OneNodeTransport>(0, 2), windows_of_both());
  const auto channel = transport.open(0);
  peers_[1]->at<Receipts>(peers_[1]->layout().receipts(0))->entries = 1000;
  const auto message = pattern(8, 1);
  try {
    for (std::size_t i = 0; i <= WindowLayout::ring_entries; ++i) channel->send(message, 1, 0, i);
    ADD_FAILURE() << "the receipts were believed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::transport);
    EXPECT_TRUE(has(error.what(), "rank 1 has a receipt that cannot be: 1000 messages of 256"))
        << error.what();
  }
}

/// The error that a rank gets of words, with such a head, that rank 1 puts on the board.
class LyingOnTheBoard : public LyingRank {
 protected:
  std::string error_of_post(std::uint64_t head, std::span<const std::byte> words,
                            std::string_view checksum = "off") {
    auto transport = std::make_shared<NodeTransport>(std::make_shared<test::OneNodeTransport>(0, 2),
                                                     windows_of_both());
    Board& board = *peers_[1]->at<Board>(peers_[1]->layout().board());
    std::ranges::copy(words, words.size() <= BoardSlot::carried_bytes
                                 ? board.slots[0].words.data()
                                 : board.longest_words[0].data());
    board.slots[0].head = head;
    Communicator communicator(transport);
    std::vector<float> data(elements, 1.0f);
    try {
      allreduce(std::span(data), communicator,
                {.codec = "raw", .timeout = 0.1, .checksum = std::string(checksum)});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::transport);
      EXPECT_EQ(data[0], 1.0f);
      return error.what();
    }
    return {};
  }

  /// Of another call.
  std::vector<std::byte> right_words() {
    AgreementWords words;
    words.begin({.hash = 1, .complement = ~1ull}, {}, nullptr);
    const auto message = words.message();
    return {message.begin(), message.end()};
  }
  /// The same with a vector behind them.
  std::vector<std::byte> right_words_and_vector(bool checksum) {
    ShortSum sum(kernels::kernel_table(kernels::Isa::scalar), ElementType::f32, elements, 1,
                 {.ranks = 2, .on_board = true, .checksum = checksum});
    std::vector<float> vector(elements, 2.0f);
    sum.begin(vector.data(), vector.data());
    AgreementWords words;
    words.begin({.hash = 1, .complement = ~1ull}, {}, &sum);
    const AgreementWords::Post post = words.post();
    std::vector<std::byte> all(post.words.begin(), post.words.end());
    all.insert(all.end(), post.vector.begin(), post.vector.end());
    return all;
  }
  static constexpr std::uint64_t first = 1 << 20;
  static constexpr std::size_t elements = 30000;
};

TEST_F(LyingOnTheBoard, IsFoundOut) {
  const auto words = right_words();
  const std::uint64_t right = first | words.size();
  EXPECT_TRUE(has(error_of_post(right, words), "waits for rank 1"))
      << "for its record: all is right";
  EXPECT_TRUE(has(error_of_post(first, words), "0 bytes came from rank 1 where 48"));
  EXPECT_TRUE(has(error_of_post(right + 4, words), "52 bytes came from rank 1 where 48"));
  EXPECT_TRUE(has(error_of_post(first | (CallBoard::max_long_bytes + 1), words), "that cannot be"));
  EXPECT_TRUE(has(error_of_post(first * 65 | words.size(), words), "that cannot be"));
  EXPECT_TRUE(has(error_of_post(~0ull, words), "that cannot be"));
  for (std::size_t byte = 0; byte < words.size(); ++byte) {
    auto changed = words;
    changed[byte] ^= std::byte{4};
    const std::string error = error_of_post(right, changed);
    EXPECT_TRUE(has(error, "words of rank 1 were changed") || has(error, " where 52 ")) << error;
  }
}

TEST_F(LyingOnTheBoard, KeepsNobodyWaitingForRoom) {
  NodeTransport transport(std::make_shared<test::OneNodeTransport>(0, 2), windows_of_both());
  peers_[1]->at<Board>(peers_[1]->layout().board())->ended = ~0ull;
  CallBoard& board = *transport.take_board();
  for (std::uint64_t call = 0; call <= CallBoard::calls; ++call) {
    board.begin(call);
    EXPECT_TRUE(board.post(call, right_words(), {})) << call;
  }
}

/// Those of the first calls are the longest for which there is room, and get shorter.
std::vector<std::byte> words_of_call(std::uint64_t call) {
  if (call < CallBoard::longest_calls)
    return pattern(call == 0 ? CallBoard::max_long_bytes : 20000, call);
  return pattern(call < CallBoard::long_calls ? 5000 : 100, call);
}

TEST_F(LyingOnTheBoard, IsFoundOutBehindTheWords) {
  for (const bool checksum : {false, true}) {
    const auto right = right_words_and_vector(checksum);
    const auto error_of = [&](std::span<const std::byte> post) {
      return error_of_post(first | post.size(), post, checksum ? "on" : "off");
    };
    EXPECT_TRUE(has(error_of(right), "waits for rank 1")) << "for its record: all is right";
    auto changed = right;
    changed[right.size() - 5] ^= std::byte{1};
    EXPECT_TRUE(has(error_of(changed), checksum ? "words of rank 1 were changed" : "waits for"));
    const std::span all(right);
    for (const std::size_t bytes : {std::size_t{48}, right.size() - 4})
      EXPECT_TRUE(has(error_of(all.first(bytes)), "bytes came from rank 1 where 120048"));
    changed = right;
    changed.resize(right.size() + 4);
    EXPECT_TRUE(has(error_of(changed), "120052 bytes came from rank 1 where 120048"));
  }
  AgreementWords words;
  AgreementWords::Table table;
  table.elements = (1ull << 32) | (ShortSum::max_bytes + 4);
  const auto too_many = words.message_of(table);
  EXPECT_TRUE(has(error_of_post(first | too_many.size(), too_many), "words of rank 1 were changed"))
      << "more than any rank has";
}

TEST_F(TwoRanks, KeepWordsOnTheBoardUntilAllHaveReadThem) {
  CallBoard& left = *left_->take_board();
  CallBoard& right = *right_->take_board();
  EXPECT_EQ(left_->take_board(), nullptr) << "another communicator's calls have the same numbers";
  constexpr std::uint64_t next = CallBoard::calls;
  EXPECT_FALSE(left.post(0, words_of_call(0), {})) << "it has not begun";
  for (std::uint64_t call = 0; call <= next; ++call) left.begin(call);
  for (std::uint64_t call = 0; call < next; ++call)
    EXPECT_TRUE(left.post(call, words_of_call(call), {}));
  EXPECT_FALSE(left.post(next, words_of_call(next), {})) << "nobody has read the first";
  EXPECT_FALSE(left.has_posted(next));
  EXPECT_TRUE(left.post(5, {}, {})) << "it is there";
  for (std::uint64_t call = 0; call < next; ++call) {
    const auto words = right.words_of(call, 0);
    ASSERT_TRUE(words);
    EXPECT_TRUE(std::ranges::equal(*words, words_of_call(call)));
    EXPECT_FALSE(left.words_of(call, 1));
  }
  EXPECT_FALSE(right.words_of(next, 0));
  for (const std::uint64_t call : {0, 1}) right.begin(call);
  right.end(1, false);
  EXPECT_FALSE(left.post(next, words_of_call(next), {})) << "the first may still be read";
  right.end(0, false);
  for (const std::uint64_t longer : {std::uint64_t{0}, CallBoard::longest_calls})
    EXPECT_FALSE(left.post(next, words_of_call(longer), {})) << "of longer words there are fewer";
  EXPECT_TRUE(left.post(next, words_of_call(next), {}));
  EXPECT_TRUE(std::ranges::equal(right.words_of(next, 0).value(), words_of_call(next)));
  EXPECT_FALSE(left_->failure());
  left.end(next, true);
  EXPECT_TRUE(left_->failure()) << "a call ended early";
}

TEST_F(TwoRanks, LearnThatARankHasLeftWhereItsWordsHaveNoRoom) {
  CallBoard& left = *left_->take_board();
  CallBoard& right = *right_->take_board();
  for (std::uint64_t call = 0; call < CallBoard::calls; ++call) {
    left.begin(call);
    EXPECT_TRUE(left.post(call, pattern(48, call), {}));
  }
  left.leave(CallBoard::calls, pattern(48, 1));
  EXPECT_TRUE(right.words_of(CallBoard::calls - 1, 0)) << "earlier calls go on";
  for (const std::uint64_t call : {CallBoard::calls, CallBoard::calls + 1}) {
    try {
      right.words_of(call, 0);
      ADD_FAILURE() << "call " << call << " goes on";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("rank 0: an earlier call"), std::string::npos);
    }
  }
}

TEST_F(TwoRanks, LearnThatARankLeftACallForWhoseWordsItFoundNoRoom) {
  CallBoard& left = *left_->take_board();
  CallBoard& right = *right_->take_board();
  for (std::uint64_t call = 0; call <= CallBoard::long_calls; ++call) {
    left.begin(call);
    EXPECT_EQ(left.post(call, pattern(5000, call), {}), call < CallBoard::long_calls);
  }
  EXPECT_FALSE(right.words_of(CallBoard::long_calls, 0));
  left.end(CallBoard::long_calls, true);
  EXPECT_THROW(right.words_of(CallBoard::long_calls, 0), Error);
  EXPECT_TRUE(right.words_of(CallBoard::long_calls - 1, 0));
}

TEST_F(TwoRanks, LearnOfTheFirstCallThatARankLeftUnposted) {
  CallBoard& left = *left_->take_board();
  CallBoard& right = *right_->take_board();
  for (std::uint64_t call = 0; call < 4; ++call) left.begin(call);
  for (const std::uint64_t call : {0, 1}) EXPECT_TRUE(left.post(call, pattern(20000, call), {}));
  left.end(3, true);
  EXPECT_FALSE(right.words_of(2, 0)) << "it goes on";
  left.end(2, true);
  EXPECT_THROW(right.words_of(2, 0), Error);
  EXPECT_TRUE(right.words_of(1, 0));
}

/// Of a length that is copied past the caches, or not, in whole lines, or not.
TEST_F(TwoRanks, PostAVectorBehindTheWords) {
  CallBoard& left = *left_->take_board();
  CallBoard& right = *right_->take_board();
  std::uint64_t call = 0;
  for (const std::size_t words : {std::size_t{48}, std::size_t{40}})
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{72}, std::size_t{8192}, std::size_t{8193},
          std::size_t{16400}, std::size_t{16401}, CallBoard::max_long_bytes - 48})
      for (const std::size_t at : {std::size_t{0}, std::size_t{3}}) {
        const auto all = pattern(words + at + bytes, call);
        const std::span<const std::byte> head(all.data(), words);
        const auto vector = std::span(all).subspan(words + at);
        left.begin(call);
        right.begin(call);
        ASSERT_TRUE(left.post(call, head, vector));
        const auto posted = right.words_of(call, 0);
        ASSERT_TRUE(posted);
        ASSERT_EQ(posted->size(), words + bytes);
        EXPECT_TRUE(std::ranges::equal(posted->first(words), head));
        EXPECT_TRUE(std::ranges::equal(posted->subspan(words), vector)) << bytes;
        left.end(call, false);
        right.end(call++, false);
      }
}

/// Of two such calls there is room. Who has left never comes to the third, nor to those behind it.
TEST_F(TwoRanks, LearnThatARankHasLeftWhereTheirOwnWordsHaveNoRoom) {
  CallBoard& left = *left_->take_board();
  CallBoard& right = *right_->take_board();
  right.begin(0);
  for (std::uint64_t call = 0; call <= CallBoard::longest_calls; ++call) left.begin(call);
  for (std::uint64_t call = 0; call < CallBoard::longest_calls; ++call)
    EXPECT_TRUE(left.post(call, pattern(20000, call), {}));
  EXPECT_FALSE(left.post(CallBoard::longest_calls, pattern(20000, 1), {}));
  right.begin(1);
  right.end(1, true);
  try {
    left.post(CallBoard::longest_calls, pattern(20000, 1), {});
    ADD_FAILURE() << "it waits for ever";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1: an earlier call"), std::string::npos);
  }
}

TEST_F(TwoRanks, HaveRoomBehindCallsThatNeverBegan) {
  CallBoard& left = *left_->take_board();
  CallBoard& right = *right_->take_board();
  constexpr std::uint64_t next = 3 * CallBoard::calls;
  for (CallBoard* const board : {&left, &right})
    for (std::uint64_t call = 0; call < next; ++call) board->end(call, true);
  left.begin(next);
  EXPECT_TRUE(left.post(next, pattern(5000, 1), {}));
  EXPECT_TRUE(right.words_of(next, 0));
}

TEST(WindowMark, IsNeverUsedForThe0thTime) {
  EXPECT_EQ(use_after(0), 1u);
  EXPECT_EQ(use_after(0xfffffffeu), 0xffffffffu);
  EXPECT_EQ(use_after(0xffffffffu), 1u);
}

/// What `body` returns in a process that was forked off.
template <class Body>
bool in_a_forked_process(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(TwoRanks, KeepTheirWordsWhateverAForkedProcessDestroys) {
  auto memory = left_->take_memory(5000);
  std::memset(memory->bytes().data(), 7, 5000);
  auto from = left_->open(0);
  from->send(memory->bytes(), 1, 0, 0);
  EXPECT_TRUE(in_a_forked_process([&] {
    memory.reset();
    from.reset();
    return true;
  }));
  const auto to = right_->open(0);
  std::vector<std::byte> received(5000);
  std::vector<Completion> out(4);
  to->receive(received, 0, 0, 0);
  while (to->poll(out) == 0) {
  }
  EXPECT_EQ(received, std::vector<std::byte>(5000, std::byte{7}));
}

TEST(NodeWindow, IsAnErrorWhereFilesMayNotBeSoLong) {
  EXPECT_TRUE(in_a_forked_process([] {
    const rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      NodeWindow window(2);
    } catch (const Error& error) {
      return std::string(error.what()).find("ulimit -f") != std::string::npos;
    }
    return false;
  }));
}

TEST(ProcessWatch, KnowsThatAProcessHadEndedBefore) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(ProcessWatch(child).has_ended());
}

// Ranks as processes.

enum Outcome : int { as_expected = 0, not_as_expected = 1 };

/// Runs `body` on each rank of a node, in processes of their own; whether all were as expected.
bool run_forked(int ranks, const std::function<bool(int rank, const Exchange& exchange)>& body) {
  const auto board = make_process_board();
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank)
    processes.push_back(fork_rank(
        [&] { return body(rank, board->exchange(rank, ranks)) ? as_expected : not_as_expected; }));
  bool all = true;
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    all &= WIFEXITED(status) && WEXITSTATUS(status) == as_expected;
  }
  return all;
}

std::shared_ptr<Transport> meet(int rank, int ranks, const Exchange& exchange) {
  return with_node_windows(std::make_shared<test::OneNodeTransport>(rank, ranks), exchange);
}

bool has_windows(Transport& transport) { return transport.take_memory(1) != nullptr; }

TEST(ForkedRanks, ReadEachOthersWindows) {
  EXPECT_TRUE(run_forked(3, [](int rank, const Exchange& exchange) {
    const auto transport = meet(rank, 3, exchange);
    if (!has_windows(*transport)) return false;
    for (std::uint64_t seed = 0; seed < 5; ++seed) exchange_in_random_order(*transport, seed);
    const auto channel = transport->open(2);
    const auto memory = transport->take_memory(5 << 20);
    const auto sent = pattern(5 << 20, std::uint64_t(rank));
    std::ranges::copy(sent, memory->bytes().begin());
    std::vector<std::byte> received(5 << 20);
    pass_right(*transport, *channel, memory->bytes(), received);
    return received == pattern(5 << 20, std::uint64_t(left_of(*transport))) &&
           !::testing::Test::HasFailure();
  }));
}

TEST(ForkedRanks, TakeWhatARankSentBeforeItEnded) {
  EXPECT_TRUE(run_forked(2, [](int rank, const Exchange& exchange) {
    auto transport = meet(rank, 2, exchange);
    const auto sent = pattern(200000, 1);
    if (rank == 1) {
      const auto channel = transport->open(0);
      Driver driver(*channel);
      driver.send(sent, 0, 0);
      driver.finish();
      return true;
    }
    transport->open(1);
    std::this_thread::sleep_for(300ms);
    const auto channel = transport->open(0);
    Driver driver(*channel);
    std::vector<std::byte> received(200000);
    driver.receive(received, 1, 0);
    driver.finish();
    return received == sent;
  }));
}

/// The error that rank 0 gets when rank 1 ends, and how long it takes.
bool notices(bool sends) {
  return run_forked(2, [sends](int rank, const Exchange& exchange) {
    const auto transport = meet(rank, 2, exchange);
    if (rank == 1) return true;
    const auto channel = transport->open(0);
    const auto memory = transport->take_memory(1000);
    std::vector<Completion> out(4);
    const auto begin = std::chrono::steady_clock::now();
    if (sends)
      channel->send(memory->bytes(), 1, 0, 0);
    else
      channel->receive(memory->bytes(), 1, 0, 0);
    try {
      while (std::chrono::steady_clock::now() - begin < 10s) {
        if (channel->poll(out) != 0) return false;
        std::this_thread::sleep_for(20us);
      }
    } catch (const Error& error) {
      return error.kind() == ErrorKind::transport &&
             std::string(error.what()).find("process of rank 1") != std::string::npos &&
             std::chrono::steady_clock::now() - begin < 3s;
    }
    return false;
  });
}

TEST(ForkedRanks, NoticeThatAPeerDied) {
  EXPECT_TRUE(notices(false));
  EXPECT_TRUE(notices(true));
}

TEST(ForkedRanks, NoticeThatAPeerDiedBeforeItAgreed) {
  EXPECT_TRUE(run_forked(2, [](int rank, const Exchange& exchange) {
    Communicator communicator(meet(rank, 2, exchange));
    std::vector<float> data(10, 1.0f);
    allreduce(std::span(data), communicator, {.codec = "raw"});
    if (rank == 1) _exit(as_expected);
    const auto begin = std::chrono::steady_clock::now();
    try {
      allreduce(std::span(data), communicator, {.codec = "raw"});
    } catch (const Error& error) {
      return std::string(error.what()).find("process of rank 1") != std::string::npos &&
             std::chrono::steady_clock::now() - begin < 3s;
    }
    return false;
  }));
}

// Of more calls at once than have room on a board none waits for ever.
TEST(ForkedRanks, NoticeThatAPeerDiedThatHadManyCallsBeforeIt) {
  EXPECT_TRUE(run_forked(3, [](int rank, const Exchange& exchange) {
    constexpr std::uint32_t channels = 256;  // so many calls may be in flight
    Communicator communicator(
        with_node_windows(std::make_shared<test::OneNodeTransport>(rank, 3, channels), exchange));
    std::vector<float> data(10, 1.0f);
    allreduce(std::span(data), communicator, {.codec = "raw"});
    if (rank == 1) _exit(as_expected);
    std::vector<std::vector<float>> many(3 * CallBoard::long_calls, std::vector<float>(300));
    std::vector<Request> requests;
    for (auto& vector : many)
      requests.push_back(allreduce_start(vector.data(), vector.data(), vector.size(),
                                         ElementType::f32, communicator, {.codec = "raw"}));
    std::size_t errors = 0;
    for (Request& request : requests) {
      try {
        request.wait();
      } catch (const Error&) {
        ++errors;
      }
    }
    return errors == many.size();
  }));
}

/// Whether ranks have windows when what rank 1 tells first is changed.
bool have_windows_if(const std::function<void(std::vector<std::byte>&)>& change) {
  std::atomic<bool>* const any =
      new (mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          std::atomic(false);
  EXPECT_TRUE(run_forked(3, [&](int rank, const Exchange& exchange) {
    int exchanges = 0;
    const auto transport = meet(rank, 3, [&](std::span<const std::byte> bytes) {
      std::vector<std::byte> own(bytes.begin(), bytes.end());
      if (exchanges++ == 0 && rank == 1) change(own);
      return exchange(own);
    });
    if (has_windows(*transport)) *any = true;
    return true;
  }));
  return *any;
}

TEST(ForkedRanks, DoWithoutWindowsThatTheyCannotRead) {
  constexpr std::size_t process = 4, fd = 12, token = 20;  // behind the outcome of tell_all()
  EXPECT_TRUE(have_windows_if([](auto&) {}));
  EXPECT_FALSE(have_windows_if([](auto& bytes) { bytes[fd] = std::byte{200}; }));
  EXPECT_FALSE(have_windows_if([](auto& bytes) { bytes[fd] = std::byte{0}; }));
  EXPECT_FALSE(have_windows_if([](auto& bytes) { bytes[token] ^= std::byte{1}; }));
  EXPECT_FALSE(have_windows_if([](auto& bytes) {
    const std::int64_t init = 1;
    std::memcpy(&bytes[process], &init, sizeof init);
  }));
  EXPECT_FALSE(have_windows_if([](auto& bytes) { bytes.resize(bytes.size() - 1); }));
}

// Else the others would wait for it.
TEST(TellAll, ExchangesThatARankHasNoMemory) {
  std::size_t exchanges = 0;
  try {
    tell_all(
        [&](std::span<const std::byte> own) {
          ++exchanges;
          return std::vector(1, std::vector<std::byte>(own.begin(), own.end()));
        },
        []() -> std::vector<std::byte> { throw std::bad_alloc(); });
    ADD_FAILURE() << "nobody was told";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory);
    EXPECT_EQ(std::string(error.what()),
              "rank 0: out of memory for what the ranks tell each other");
  }
  EXPECT_EQ(exchanges, 1u);
}

TEST(ForkedRanks, DoWithoutWindowsWhereOneRankSaysSo) {
  EXPECT_TRUE(run_forked(3, [](int rank, const Exchange& exchange) {
    if (rank == 2) setenv("COHOM_NODE_MEMORY", "off", 1);
    return !has_windows(*meet(rank, 3, exchange));
  }));
  EXPECT_TRUE(run_forked(2, [](int rank, const Exchange& exchange) {
    if (rank == 1) setenv("COHOM_NODE_MEMORY", "maybe", 1);
    try {
      meet(rank, 2, exchange);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::invalid_argument &&
             std::string(error.what()) == "rank 1: COHOM_NODE_MEMORY=maybe is neither on nor off";
    }
    return false;
  }));
}

}  // namespace
}  // namespace cohom::testing
