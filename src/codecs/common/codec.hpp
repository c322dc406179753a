#pragma once
// Codec: what turns the user's vector into payloads that can be added, and sums back into elements:
// a chain of rounds.
//
// A codec object belongs to one plan: it knows rank, ranks, element type and parameters, and may
// keep scratch of one call. It is used by one thread at a time.

#include "codecs/common/round.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace cohom {

/// Bytes of error feedback an element: f32, or f64 for f64 vectors.
constexpr std::size_t feedback_size(ElementType type) { return type == ElementType::f64 ? 8 : 4; }

class ExactAccumulator;

/// One call's buffers, as seen by a codec.
struct CallBuffers {
  ElementType type = ElementType::f32;
  const void* input = nullptr;
  void* output = nullptr;
  std::uint64_t step = 0;  ///< seeds the random draws; equal on all ranks
  std::span<std::byte> state =
      {};  ///< what the codec keeps between calls (state_bytes() of it), or empty
  /// Of the vector, in the order of Piece::index. Fallback rounds have others.
  std::span<const Piece> pieces = {};
  /// Of codecs that take them: vectors that this rank added up, in place of the input. Null: none.
  const ExactAccumulator* added = nullptr;
  /// Elements of which this rank gets the sum: [first_wanted, end_wanted). Others have no output.
  std::size_t first_wanted = 0, end_wanted = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] const std::byte* input_at(std::size_t element) const {
    return static_cast<const std::byte*>(input) + element * size_of(type);
  }
  [[nodiscard]] std::byte* output_at(std::size_t element) const {
    return static_cast<std::byte*>(output) + element * size_of(type);
  }
  /// State from an element on, where it is one Feedback an element; null for codecs that keep none.
  [[nodiscard]] std::byte* feedback_at(std::size_t element) const {
    return state.empty() ? nullptr : state.data() + element * feedback_size(type);
  }
  /// What of a range of elements is wanted. Of others output_at() is no address.
  struct Range {
    std::size_t first = 0, count = 0;
  };
  [[nodiscard]] Range wanted_of(std::size_t first, std::size_t count) const {
    const std::size_t from = std::max(first, first_wanted);
    const std::size_t end = std::min(first + count, end_wanted);
    return {from, from < end ? end - from : 0};
  }
  [[nodiscard]] bool is_last(const Piece& piece) const { return piece.index + 1 == pieces.size(); }
};

class Codec {
 public:
  Codec() = default;
  virtual ~Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  /// Elements treated together, a power of two. Pieces start at multiples of it.
  [[nodiscard]] virtual std::size_t block() const = 0;

  /// In order: those before the payload, the payload, those behind it.
  [[nodiscard]] std::span<Round* const> rounds() const { return rounds_; }
  [[nodiscard]] std::size_t payload_round() const { return payload_; }
  [[nodiscard]] const Round& payload() const { return *rounds_[payload_]; }

  /// Takes the scratch that calls need, for a vector of so many elements and pieces of at most
  /// `longest_piece`, so that calls take none. Asked once, before the first call.
  virtual void reserve(std::size_t /*elements*/, std::size_t /*longest_piece*/) {}

  /// Bytes of scratch that kernels of a device need, for a vector of so many elements and pieces of
  /// at most `longest_piece`, besides a byte for four elements of a piece. Asked before reserve().
  [[nodiscard]] virtual std::size_t device_scratch(std::size_t /*elements*/,
                                                   std::size_t /*longest_piece*/) const {
    return 0;
  }

  /// Bytes of state for a vector of this many elements; 0 when the codec keeps none.
  [[nodiscard]] virtual std::size_t state_bytes(std::size_t /*elements*/) const { return 0; }

  /// Start of a call: forgets the scratch of the one before. The pieces outlive the call.
  void begin(const CallBuffers& call) {
    call_ = call;
    start();
  }

  /// Whether the call just begun does without this round, alike on all ranks. Not asked of
  /// fallback rounds.
  [[nodiscard]] virtual bool skips(const Round& /*round*/) const { return false; }

 protected:
  /// Appends a round, a member of the codec.
  void add(Round& round) {
    if (round.traits().time == RoundTime::payload) payload_ = rounds_.size();
    rounds_.push_back(&round);
  }
  virtual void start() {}

  CallBuffers call_;  ///< of the call in flight

 private:
  std::vector<Round*> rounds_;
  std::size_t payload_ = 0;
};

/// Elements of a ragged block of `count` elements on the wire: the smallest power of two >= 16
/// that holds them.
constexpr std::size_t padded_block(std::size_t count) {
  std::size_t size = 16;
  while (size < count) size *= 2;
  return size;
}

}  // namespace cohom
