#include "ucx_cluster.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace cohom::testing {

namespace {

/// What an exchange is between threads.
class Board {
 public:
  explicit Board(int ranks) : notes_(static_cast<std::size_t>(ranks)), all_(ranks) {}

  ucx::Exchange exchange(int rank) {
    return [this, rank](std::span<const std::byte> bytes) {
      notes_[static_cast<std::size_t>(rank)].assign(bytes.begin(), bytes.end());
      all_.arrive_and_wait();
      auto all = notes_;
      all_.arrive_and_wait();
      return all;
    };
  }

 private:
  std::vector<std::vector<std::byte>> notes_;
  std::barrier<> all_;
};

}  // namespace

void run_over_ucx(int ranks, const std::string& paths,
                  const std::function<void(Transport&)>& body) {
  Board board(ranks);
  std::vector<std::shared_ptr<ucx::Worker>> workers(static_cast<std::size_t>(ranks));
  std::vector<std::jthread>
      threads;  // end before the workers: what was sent last may be on its way
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto make = [&] {
          auto& worker = workers[static_cast<std::size_t>(rank)];
          worker = std::make_shared<ucx::Worker>(ucx::ContextSettings{.transports = paths});
          return worker;
        };
        ucx::UcxTransport transport(make, rank, ranks, board.exchange(rank));
        body(transport);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
}

}  // namespace cohom::testing
