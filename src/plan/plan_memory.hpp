#pragma once
// PlanMemory: what the plans of all communicators of the process take for their workspaces.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace cohom {

class PlanMemory {
 public:
  /// A communicator's plans. Others may drop what nobody uses, in the thread that used them last:
  /// what plans hold of a transport is not given back behind another thread's back.
  class Share {
   public:
    Share() = default;
    virtual ~Share() = default;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// Some plan of it is needed now, in this thread.
    void use() {
      last_use_.store(uses.load(std::memory_order_relaxed), std::memory_order_relaxed);
      user_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }

   protected:
    /// Drops the plan with a workspace that was not used for longest, unless the communicator or
    /// all of them are in use. @returns whether it did
    virtual bool drop_one_if_free() = 0;
    /// The class that has the plans joins when it has all it needs, and leaves before that goes.
    void join();
    void leave();

   private:
    friend class PlanMemory;
    /// Counts plans that were made: what was used before the same number is as old.
    static inline std::atomic<std::uint64_t> uses = 0;
    std::atomic<std::uint64_t> last_use_ = 0;
    std::atomic<std::thread::id> user_ = {};
  };

  /// What one plan takes, as long as it lives.
  class Bytes {
   public:
    /// `most`: of all plans together; `rank`: of the communicator, for the log.
    Bytes(std::size_t most, int rank) : most_(most), rank_(rank) { ++Share::uses; }
    ~Bytes() { instance().remove(bytes_); }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;

    /// Before it takes more.
    void make_room() const { instance().make_room(most_, rank_); }
    /// From now on it takes so many.
    void become(std::size_t bytes) {
      instance().remove(std::exchange(bytes_, bytes));
      instance().add(bytes);
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

   private:
    std::size_t most_;
    int rank_;
    std::size_t bytes_ = 0;
  };

  static PlanMemory& instance();

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// The most there were at a time.
  [[nodiscard]] std::size_t most_bytes() const { return most_bytes_; }
  /// Where there are more bytes than `most`, drops plans that nobody uses, first those of
  /// communicators that this thread has not used for longest, and says so once.
  void make_room(std::size_t most, int rank);

 private:
  void add(std::size_t bytes);
  void remove(std::size_t bytes) { bytes_ -= bytes; }

  std::atomic<std::size_t> bytes_ = 0, most_bytes_ = 0;
  std::mutex mutex_;
  std::vector<Share*> shares_;
};

}  // namespace cohom
