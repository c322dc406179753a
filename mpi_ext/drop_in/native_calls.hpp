#pragma once
// NativeCalls: calls that stay MPI's because nothing on their communicator says otherwise. They
// should cost some tens of instructions, so they are known by the handle alone.

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace cohom::mpi {

class NativeCalls {
 public:
  /// Whether a call on `comm` of this thread stays MPI's for certain. Then it is counted.
  static bool take(MPI_Comm comm) {
    if (comm != last_ || changes_.load(std::memory_order_relaxed) != changes_then_) return false;
    count_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  /// The ranks of `comm` agreed that its calls stay MPI's. That holds until something changes.
  static void agreed(MPI_Comm comm) {
    last_ = comm;
    changes_then_ = changes_;
  }
  /// What was known of some communicator may be wrong: it was freed, and its handle may be another
  /// one's, or it got keys.
  static void change() { ++changes_; }
  [[nodiscard]] static std::uint64_t count() { return count_; }

 private:
  static inline std::atomic<std::uint64_t> changes_ = 0, count_ = 0;
  static inline thread_local MPI_Comm last_ = MPI_COMM_NULL;  ///< of the thread's last call
  static inline thread_local std::uint64_t changes_then_ = ~std::uint64_t{0};  ///< no call yet
};

}  // namespace cohom::mpi
