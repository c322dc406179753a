// Streams: how late work is, and what waits for what.

#include "ptx/runtime/streams.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cohom::ptx {
namespace {

class StreamsTest : public testing::Test {
 protected:
  /// Work that notes its name.
  auto noting(char name) {
    return [this, name] { done_ += name; };
  }

  Streams streams_;
  std::string done_;
};

TEST_F(StreamsTest, NothingIsDoneBeforeSomebodyWaits) {
  const auto stream = streams_.find(streams_.add(false));
  streams_.put(stream, noting('a'));
  streams_.put(stream, noting('b'));
  streams_.go_on();
  EXPECT_EQ(done_, "");
  const Point point = streams_.record(stream);
  streams_.put(stream, noting('c'));
  EXPECT_FALSE(point.is_done());
  stream->do_until(point.number);
  EXPECT_TRUE(point.is_done());
  EXPECT_EQ(done_, "ab");
  streams_.do_all();
  EXPECT_EQ(done_, "abc");
}

TEST_F(StreamsTest, AStreamThatWaitsForAnotherGetsItOn) {
  const auto first = streams_.find(streams_.add(false)),
             second = streams_.find(streams_.add(false));
  streams_.put(first, noting('a'));
  const Point point = streams_.record(first);
  streams_.put(first, noting('b'));
  streams_.put(second, [] {}, {point});
  streams_.put(second, noting('c'));
  EXPECT_FALSE(second->is_ready());
  second->do_all();
  EXPECT_EQ(done_, "ac");
}

TEST_F(StreamsTest, TheDefaultStreamAndBlockingOnesWaitForEachOther) {
  const auto blocking = streams_.find(streams_.add(true)),
             free = streams_.find(streams_.add(false));
  const auto first = streams_.find(Streams::default_stream);
  streams_.put(free, noting('f'));
  streams_.put(blocking, noting('a'));
  streams_.put(first, noting('b'));
  streams_.put(blocking, noting('c'));
  blocking->do_all();
  EXPECT_EQ(done_, "abc");
}

TEST_F(StreamsTest, HandlesEnd) {
  const Streams::Handle handle = streams_.add(false);
  EXPECT_NE(streams_.find(handle), nullptr);
  streams_.remove(handle);
  EXPECT_EQ(streams_.find(handle), nullptr);
  EXPECT_NE(streams_.find(Streams::default_stream), nullptr);
}

}  // namespace
}  // namespace cohom::ptx
