#pragma once
// FallbackRounds: rounds that run only when earlier ones, or the payload, left something over.

#include "agreement/call_signature.hpp"
#include "executor/chunking.hpp"
#include "executor/round_factory.hpp"
#include "executor/round_run.hpp"
#include "memory/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cohom {

class FallbackRounds {
 public:
  /// `factory` outlives it.
  explicit FallbackRounds(const RoundFactory& factory);
  FallbackRounds(const FallbackRounds&) = delete;
  FallbackRounds& operator=(const FallbackRounds&) = delete;

  /// Whether the codec has any.
  [[nodiscard]] bool any() const;
  /// Whether one of them has no size before the payload is decoded.
  [[nodiscard]] bool wait_for_payload() const { return wait_for_payload_; }
  /// Whether prepare() was called in the call in flight.
  [[nodiscard]] bool decided() const { return decided_; }

  void begin() { decided_ = false; }
  /// Finds how many elements each has, adds the numbers to `signature`, and takes memory for those
  /// that have some. @throws Error
  void prepare(CallSignature& signature);
  /// A round that has elements, once; null for the others.
  [[nodiscard]] std::unique_ptr<RoundRun> take(std::size_t number) {
    return std::move(fallback_[number].round);
  }
  /// Whether take() gave the round in this call: it uses memory of this until end().
  [[nodiscard]] bool runs(std::size_t number) const {
    return fallback_[number].chunking != nullptr;
  }
  /// All ranks do without them.
  void skip();
  /// Gives the memory of the call up. Rounds that were taken are gone by then.
  void end() { skip(); }

 private:
  struct Fallback {
    std::unique_ptr<Chunking> chunking;
    MemoryArray<std::uint64_t> workspace;
    std::unique_ptr<RoundRun> round;
  };

  void prepare(std::size_t number, CallSignature& signature);

  const RoundFactory& factory_;
  bool wait_for_payload_ = false;
  bool decided_ = false;
  std::vector<Fallback> fallback_;  ///< by round
};

}  // namespace cohom
