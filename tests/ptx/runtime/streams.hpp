#pragma once
// Streams: work in order, done when it must be (StreamOrder), and what waits for what.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace cohom::ptx {

class Stream;

/// The end of what was in a stream at some time. Without a stream: done.
struct Point {
  std::shared_ptr<Stream> stream;
  std::uint64_t number = 0;

  [[nodiscard]] bool is_done() const;
};

class Stream {
 public:
  explicit Stream(bool blocking) : blocking_(blocking) {}

  /// Work that the stream is done with when it runs; it may wait for points of other streams.
  void put(std::function<void()> work, std::vector<Point> awaited);
  void do_until(std::uint64_t number);
  void do_all() { do_until(put_); }
  /// What is next, and all that it waits for.
  void do_one();
  /// Whether what is next need not wait for another stream.
  [[nodiscard]] bool is_ready() const;

  [[nodiscard]] bool is_empty() const { return works_.empty(); }
  [[nodiscard]] std::uint64_t put_so_far() const { return put_; }
  [[nodiscard]] bool is_done(std::uint64_t number) const { return done_ >= number; }
  /// Whether it and the default stream wait for each other.
  [[nodiscard]] bool is_blocking() const { return blocking_; }
  /// Whether it has had anything but copies, for StreamOrder::copies_first.
  [[nodiscard]] bool has_kernels() const { return has_kernels_; }
  void note_kernel() { has_kernels_ = true; }

 private:
  struct Work {
    std::function<void()> run;
    std::vector<Point> awaited;
  };

  std::deque<Work> works_;
  std::uint64_t put_ = 0, done_ = 0;
  bool blocking_, has_kernels_ = false;
};

/// All streams of the device. Not for several threads at once: see DeviceLock.
class Streams {
 public:
  using Handle = std::uintptr_t;
  static constexpr Handle default_stream = 0;

  static Streams& instance();
  Streams();

  Handle add(bool blocking);
  void remove(Handle handle);
  /// Null for a handle that is none.
  [[nodiscard]] std::shared_ptr<Stream> find(Handle handle) const;

  /// Behind what the stream has, and behind what CUDA's rules of the default stream say.
  void put(const std::shared_ptr<Stream>& stream, std::function<void()> work,
           std::vector<Point> awaited = {});
  /// The end of what the stream has; of the default stream, of what it waits for as well.
  Point record(const std::shared_ptr<Stream>& stream);
  void do_all();
  /// Some work that nobody waits for, as the settings say.
  void go_on();
  /// Whether a call that only asks gets the work on: else programs that ask would never end.
  bool goes_on_when_asked();

 private:
  void do_copies();
  void do_any();

  std::map<Handle, std::shared_ptr<Stream>> streams_;
  Handle next_ = 4096;
  std::mt19937 random_;
};

}  // namespace cohom::ptx
