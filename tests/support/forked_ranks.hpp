#pragma once
// Ranks as processes forked from this one, which itself starts no transport.

#include <cohom/transport.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

namespace cohom::testing {

/// What an exchange is between processes of one parent.
struct ProcessBoard {
  static constexpr std::size_t max_ranks = 8;
  static constexpr std::size_t capacity = 1 << 16;

  struct Note {
    std::size_t bytes = 0;
    std::byte text[capacity];
  };
  Note notes[max_ranks];
  std::atomic<int> arrivals = 0;

  void wait_for_all(int ranks) {
    const int round = arrivals.fetch_add(1) / ranks;
    while (arrivals.load() < (round + 1) * ranks)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

  Exchange exchange(int rank, int ranks) {
    return [this, rank, ranks](std::span<const std::byte> bytes) {
      Note& own = notes[rank];
      own.bytes = std::min(bytes.size(), capacity);
      std::copy_n(bytes.begin(), own.bytes, own.text);
      wait_for_all(ranks);
      std::vector<std::vector<std::byte>> all;
      for (int r = 0; r < ranks; ++r)
        all.emplace_back(notes[r].text, notes[r].text + notes[r].bytes);
      wait_for_all(ranks);
      return all;
    };
  }
};

struct Unmap {
  void operator()(ProcessBoard* board) const { munmap(board, sizeof(ProcessBoard)); }
};

using ProcessBoardPointer = std::unique_ptr<ProcessBoard, Unmap>;

/// One that this process and those forked from it have in common.
inline ProcessBoardPointer make_process_board() {
  void* const memory = mmap(nullptr, sizeof(ProcessBoard), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return ProcessBoardPointer(new (memory) ProcessBoard);
}

/// A process that ends with what `body` returns, or by SIGALRM when it hangs.
/// @throws std::system_error where there can be none.
template <typename Body>
pid_t fork_rank(const Body& body) {
  constexpr int unexpected = 100;
  constexpr unsigned seconds_to_hang = 60;
  std::fflush(nullptr);  // else what is not yet written is written by both
  const pid_t process = fork();
  if (process < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process > 0) return process;
  alarm(seconds_to_hang);
  try {
    _exit(body());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "not expected: %s\n", error.what());
    _exit(unexpected);
  }
}

}  // namespace cohom::testing
