#pragma once
// Operation: a message that UCX is sending or receiving.

#include "ucx_transport/endpoint.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace cohom::ucx {

class OperationPool;
class UcxChannel;

enum class OperationKind : std::uint8_t { send, receive, flush_message };

struct Operation {
  OperationPool* pool = nullptr;
  OperationKind kind = OperationKind::send;
  UcxChannel* channel = nullptr;  ///< null once it is gone
  Completion completion = {};
  int peer = 0;
  void* request = nullptr;       ///< UCX's; null while it is being started
  bool over = false;             ///< UCX finished it while it was being started
  std::size_t place = 0;         ///< in the channel's list
  Endpoint* endpoint = nullptr;  ///< of a flush message; it ends what is under way before it goes
  std::uint64_t covered = 0;     ///< uses that the flush message covers
  /// Room for the bytes of a short message. A call that fails may end before its messages have
  /// left: UCX waits for as long as the peer takes to connect.
  std::unique_ptr<std::byte[]> copy = nullptr;
  static constexpr std::size_t max_copied = 1024;
};

/// UCX may finish an operation after its channel is gone, so the memory belongs to the worker. It
/// grows to the most operations ever open and stays: a message allocates nothing.
class OperationPool {
 public:
  Operation* take() {
    if (idle_.empty()) {
      auto copy = std::make_unique<std::byte[]>(Operation::max_copied);
      if (idle_.capacity() <= all_.size())
        idle_.reserve(2 * all_.size() + 64);  // so that give_back() cannot fail
      idle_.push_back(&all_.emplace_back());
      all_.back().copy = std::move(copy);
    }
    Operation* const operation = idle_.back();
    idle_.pop_back();
    *operation = {.pool = this, .copy = std::move(operation->copy)};
    return operation;
  }
  void give_back(Operation* operation) noexcept { idle_.push_back(operation); }

 private:
  std::deque<Operation> all_;
  std::vector<Operation*> idle_;
};

}  // namespace cohom::ucx
