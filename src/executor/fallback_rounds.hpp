#pragma once
// FallbackRounds: rounds that run only when earlier ones, or the payload, left something over.
//
// They follow from words that ranks received. No rank may decide about them by its own words alone:
// where these differ, one would wait for ever for a round that the others do without. Their memory
// is, besides, the one thing that a rank may lack after the call's agreement. So in the middle of a
// call each rank makes an offer, and all ranks agree on it.

#include "agreement/call_signature.hpp"
#include "executor/chunking.hpp"
#include "executor/round_factory.hpp"
#include "executor/round_run.hpp"
#include "memory/memory.hpp"

#include <cohom/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohom {

/// What a rank brings to that agreement: how many elements each round has.
struct FallbackOffer {
  CallSignature signature;
  std::optional<Error> failure;  ///< this rank has no memory for them
};

class FallbackRounds {
 public:
  /// `factory` outlives it.
  explicit FallbackRounds(const RoundFactory& factory);
  FallbackRounds(const FallbackRounds&) = delete;
  FallbackRounds& operator=(const FallbackRounds&) = delete;

  /// Whether one of them has no size before the payload is decoded.
  [[nodiscard]] bool wait_for_payload() const { return wait_for_payload_; }
  /// Whether offer() was called in the call in flight.
  [[nodiscard]] bool decided() const { return decided_; }

  void begin() { decided_ = false; }
  /// Finds how many elements each has, and takes memory for those that have some. `codec` is for
  /// errors. None: the codec has no such rounds.
  [[nodiscard]] std::optional<FallbackOffer> offer(const std::string& codec);
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

  [[nodiscard]] bool any() const;
  void prepare(std::size_t number, CallSignature& signature);

  const RoundFactory& factory_;
  bool wait_for_payload_ = false;
  bool decided_ = false;
  std::vector<Fallback> fallback_;  ///< by round
};

}  // namespace cohom
