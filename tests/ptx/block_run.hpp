#pragma once
// BlockRun: the threads of a block, one after the other from barrier to barrier, in random order.

#include "thread.hpp"

#include <cstdint>
#include <random>
#include <vector>

namespace cohom::ptx {

class BlockRun {
 public:
  /// For blocks of one launch. The block's kernel, launch and sizes are set.
  BlockRun(Block& block, std::mt19937_64& random);

  /// The block of that number, until all its threads are done. Complains of barriers that not all
  /// threads reach, or not the same one. @throws Fault where threads wait for each other, where an
  /// instruction does, or where one does not end
  void run(std::uint32_t number);

 private:
  void begin();
  void begin_thread(unsigned number);
  void run_ready_threads();
  void run_thread(Thread& thread);
  [[nodiscard]] unsigned count(Thread::State state) const;
  void release_block();
  bool release_warps();
  bool release_warp(unsigned warp);

  Block& block_;
  Kernel& kernel_;
  std::mt19937_64& random_;
  std::vector<std::uint64_t> slots_;
  std::vector<std::uint8_t> local_;
  std::vector<Thread> threads_;
  std::vector<unsigned> order_;
};

}  // namespace cohom::ptx
