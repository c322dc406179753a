#pragma once
// Codec: what turns a piece of the user's vector into words and a sum of words back into elements.
//
// A codec is a chain of rounds; a round is one reduction of sections. All virtual functions are
// called once a piece (tens of thousands of elements), never once an element, so a virtual call
// costs nothing that can be measured and the loops inside stay typed.
//
// A codec object belongs to one plan: it knows rank, ranks, element type and parameters, and may
// keep scratch of one call. It is used by one thread at a time.

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>
#include <cohom/widening.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom {

using Words = std::span<std::uint64_t>;
using ConstWords = std::span<const std::uint64_t>;

/// A run of whole blocks of a round's vector; only the vector's last piece may end in a ragged block.
struct Piece {
  std::size_t first = 0;  ///< index of its first element, a multiple of the codec's block
  std::size_t count = 0;  ///< elements, > 0
  std::size_t index = 0;  ///< position in the round's list of pieces
};

/// What earlier rounds agreed on. Only rounds before the one that asks may be read.
class Agreed {
 public:
  virtual ~Agreed() = default;
  /// Words that round `round` agreed on for the same piece (all words, when its scope is `vector`).
  [[nodiscard]] virtual ConstWords words(int round, const Piece& piece) const = 0;
  /// All pieces of the vector, in order of `Piece::index`.
  [[nodiscard]] virtual std::span<const Piece> pieces() const = 0;
};

enum class RoundScope : std::uint8_t {
  piece,   ///< a piece's words need only the same piece of earlier rounds: pieces are pipelined
  vector,  ///< one set of words for the whole vector: later rounds wait for all of it
  late,    ///< runs over a vector of its own, whose size is known when earlier rounds are done
};

struct RoundInfo {
  std::string_view name;
  Merge merge;
  RoundScope scope = RoundScope::piece;
  bool narrow = false;  ///< contributions have a narrow form
  /// Words may be fewer than the capacity. Unless merged by add_packed, what earlier rounds agreed on
  /// says how many, so that all contributions to a piece are equally long.
  bool varies = false;
  bool disjoint = false;         ///< narrow forms of all ranks together are no longer than a sum
  bool identity_encode = false;  ///< a contribution's words are the input elements themselves
  bool identity_decode = false;  ///< a sum's words are the output elements themselves
  bool finishes = false;         ///< complete sums go through Codec::finish()
  bool after_payload = false;    ///< late: its size is known when the payload is decoded
  bool for_decoding = false;     ///< before the payload, which is decoded by it and encoded without
  /// A round before the payload that is large enough to take the payload's algorithm; scope `piece`.
  bool large = false;
  /// Algorithm this round always takes; empty: the caller's choice (payload, large rounds) or the
  /// default of small rounds (everything else before the payload). Rounds behind the payload have
  /// their own chunks.
  std::string_view algorithm = {};
};

/// Bytes of error feedback an element: f32, or f64 for f64 vectors.
constexpr std::size_t feedback_size(ElementType type) { return type == ElementType::f64 ? 8 : 4; }

/// One call's buffers, as seen by a codec.
struct CallBuffers {
  ElementType type = ElementType::f32;
  const void* input = nullptr;
  void* output = nullptr;
  std::uint64_t step = 0;  ///< seeds the random draws; equal on all ranks
  std::span<std::byte> state =
      {};  ///< what the codec keeps between calls (state_bytes() of it), or empty

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
};

class Codec {
 public:
  virtual ~Codec() = default;

  /// Elements treated together, a power of two. Pieces start at multiples of it.
  [[nodiscard]] virtual std::size_t block() const = 0;
  [[nodiscard]] virtual std::span<const RoundInfo> rounds() const = 0;
  /// Index of the round whose decode writes the bulk of the output.
  [[nodiscard]] virtual int payload_round() const = 0;

  /// Most words a piece can have in this round and form (all pieces together, for scope `vector`).
  [[nodiscard]] virtual std::size_t capacity(int round, Form form, std::size_t elements) const = 0;

  /// Most words of a piece once finish() has changed it, which may be fewer than those of a wide sum.
  [[nodiscard]] virtual std::size_t finished_capacity(int round, std::size_t elements) const {
    return capacity(round, Form::wide, elements);
  }

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

  /// Start of a call: forget the scratch of the one before.
  virtual void begin(const CallBuffers& call) = 0;

  /// Whether the call just begun does without this round, alike on all ranks. Not asked of late rounds.
  [[nodiscard]] virtual bool skips(int /*round*/) const { return false; }

  /// Elements of a `late` round's own vector, asked when all rounds that agree are complete (with
  /// `after_payload`: when all of the payload is decoded).
  virtual std::size_t late_elements(int /*round*/, const Agreed& /*agreed*/) { return 0; }

  /// Writes this rank's contribution to `piece`; returns the words written. For a round of scope
  /// `vector` it is called for every piece in order, with the same `out`; the last call finishes it.
  virtual std::size_t encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                             Words out) = 0;

  /// Merges narrow contributions, in rank order, into a wide sum; returns the words written.
  virtual std::size_t widen(int round, const Piece& piece, const Agreed& agreed,
                            std::span<const ConstWords> contributions, Words sum);

  /// How others can do the same with each contribution, before they add. None: only widen() can.
  [[nodiscard]] virtual std::optional<Widening> widening(int /*round*/) const {
    return std::nullopt;
  }

  /// Changes a complete sum before anybody sees it, in place: `sum` has room for the capacity and
  /// holds `words` words. A function of the sum alone, so that it is the same whatever the algorithm.
  /// Returns the words left: finished_capacity(), but for add_packed, where they may be fewer. Asked
  /// for rounds with `finishes`, not with one rank.
  virtual std::size_t finish(int /*round*/, const Piece& /*piece*/, Words /*sum*/,
                             std::size_t words) {
    return words;
  }

  /// Writes the output elements of `piece` from a sum of `contributions` contributions. Rounds that
  /// only agree (all but payload and late ones) are not decoded: their words are kept as `Agreed`.
  virtual void decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
                      std::size_t contributions) = 0;
};

/// Elements of a ragged block of `count` elements on the wire: the smallest power of two >= 16
/// that holds them.
constexpr std::size_t padded_block(std::size_t count) {
  std::size_t size = 16;
  while (size < count) size *= 2;
  return size;
}

}  // namespace cohom
