#pragma once
// Workspace: where the words of a plan's rounds lie on their way, those of fallback rounds
// excepted. It is taken when a call first needs it, which may be never.

#include "memory/memory.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cohom {

class RoundRun;

class Workspace {
 public:
  /// ExecutorSetup's; may be empty.
  using Take = std::function<std::unique_ptr<MessageMemory>(std::size_t bytes)>;

  explicit Workspace(Take take) : take_(std::move(take)) {}

  /// Before take(). The round outlives this. At most one has words in another memory than the
  /// host's.
  void add(RoundRun& round) { rounds_.push_back(&round); }
  /// Behind it the rounds have their words. Does nothing the second time.
  /// @throws std::bad_alloc or Error(memory)
  void take();

  /// How much it is, taken or not.
  [[nodiscard]] std::size_t bytes() const;
  /// Empty before take().
  [[nodiscard]] std::span<std::byte> of_host() const {
    return lent_ ? lent_->bytes() : own_.bytes();
  }
  /// Of the round whose words do not lie there.
  [[nodiscard]] std::span<std::byte> apart() const { return apart_.bytes(); }

 private:
  Take take_;
  std::vector<RoundRun*> rounds_;
  std::unique_ptr<MessageMemory> lent_;  ///< null: `own_` is it
  MemoryArray<std::uint64_t> own_, apart_;
  bool taken_ = false;
};

}  // namespace cohom
