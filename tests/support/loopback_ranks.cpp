#include "loopback_ranks.hpp"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cohom::test {

void on_ranks(int ranks, const LoopbackOptions& options,
              const std::function<void(int, Communicator&)>& body) {
  LoopbackHub hub(ranks, options);
  std::mutex mutex;
  std::exception_ptr first;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          Communicator communicator = hub.communicator(rank);
          body(rank, communicator);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
      });
    }
  }
  if (first) std::rethrow_exception(first);
}

void on_ranks(int ranks, const std::function<void(int, Communicator&)>& body) {
  on_ranks(ranks, LoopbackOptions{}, body);
}

}  // namespace cohom::test
