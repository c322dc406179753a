#pragma once
// Round: one reduction of a codec. It says what a rank contributes, how contributions merge, and
// what becomes of the sum.
//
// All virtual functions are called once a piece (tens of thousands of elements), never once an
// element: a virtual call costs nothing that can be measured, and the loops inside stay typed.

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>
#include <cohom/promotion.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cohom {

using Payload = std::span<std::uint64_t>;
using ConstPayload = std::span<const std::uint64_t>;

/// A run of whole blocks of a round's vector; only the vector's last piece may end in a ragged
/// block.
struct Piece {
  std::size_t first = 0;  ///< index of its first element, a multiple of the codec's block
  std::size_t count = 0;  ///< elements, > 0
  std::size_t index = 0;  ///< position in the round's list of pieces
};

/// What all ranks have agreed on in a round before the payload, once it is complete.
class AgreedPayload {
 public:
  virtual ~AgreedPayload() = default;
  /// The words of the same piece; all words of a round whose scope is `vector`.
  [[nodiscard]] virtual ConstPayload words(const Piece& piece) const = 0;
};

enum class RoundTime : std::uint8_t {
  before_payload,  ///< ranks agree: its words are kept for later rounds, and not decoded
  payload,         ///< its decoding writes the bulk of the output
  behind_payload,  ///< decoded
};

enum class RoundScope : std::uint8_t {
  piece,     ///< a piece needs only the same piece of earlier rounds: pieces are pipelined
  vector,    ///< one set of words for the whole vector: later rounds wait for all of it
  fallback,  ///< runs over a vector of its own, whose size earlier rounds decide
};

enum class Contributions : std::uint8_t {
  like_sums,        ///< have one form, which is added to
  narrow,           ///< have a narrow form, too, for whoever gets them all at once
  narrow_disjoint,  ///< the same; the narrow forms of all ranks together are no longer than a sum
};

enum class PayloadLength : std::uint8_t {
  fixed,    ///< always the capacity
  varying,  ///< up to the capacity. All contributions to a piece are equally long, because earlier
            ///< rounds say how long, unless the round merges_itself().
};

/// Whether words are the user's elements themselves, so that they may lie in the user's memory.
enum class Identity : std::uint8_t { none, encoding, encoding_and_decoding };

enum class CompleteSums : std::uint8_t {
  as_merged,
  finished,            ///< go through Round::finish(), but with one rank
  finished_if_merged,  ///< likewise, but promote() makes finished ones
};

/// What waits for a round before the payload.
enum class NeededBy : std::uint8_t {
  encoding,  ///< of the payload
  decoding,  ///< of the payload, which is encoded without
};

/// When the size of a fallback round's vector is known.
enum class FallbackSize : std::uint8_t { when_agreed, when_payload_decoded };

enum class RoundAlgorithm : std::uint8_t {
  small,       ///< the default of small rounds
  as_payload,  ///< the caller's choice, as for the payload: the round is large. Scope `piece`.
  direct,      ///< owners get all contributions at once
  by_size,     ///< any, by what the ranks and the round's vector make fastest
};

/// What an executor must know of a round before any call.
struct RoundTraits {
  std::string_view name;
  Merge merge;
  RoundTime time = RoundTime::before_payload;
  RoundScope scope = RoundScope::piece;
  Contributions contributions = Contributions::like_sums;
  PayloadLength length = PayloadLength::fixed;
  Identity identity = Identity::none;
  CompleteSums sums = CompleteSums::as_merged;
  NeededBy needed_by = NeededBy::encoding;
  FallbackSize fallback_size = FallbackSize::when_agreed;
  RoundAlgorithm algorithm = RoundAlgorithm::small;  ///< of the payload: always the caller's choice
  bool grows = false;        ///< partial sums are shorter, the fewer ranks contributed: widen()
  bool independent = false;  ///< reads no earlier agreement, and does not wait for any

  [[nodiscard]] bool narrow() const { return contributions != Contributions::like_sums; }
  [[nodiscard]] bool disjoint() const { return contributions == Contributions::narrow_disjoint; }
  /// Whether promote() takes some ranks' contributions, and not only those of all.
  [[nodiscard]] bool promotes_some() const {
    return contributions == Contributions::narrow && sums != CompleteSums::finished_if_merged;
  }
  [[nodiscard]] bool varies() const { return length == PayloadLength::varying; }
  [[nodiscard]] bool finishes_sums() const { return sums != CompleteSums::as_merged; }
  [[nodiscard]] bool finishes_promoted() const { return sums == CompleteSums::finished; }
  [[nodiscard]] bool is_fallback() const { return scope == RoundScope::fallback; }
  /// Payloads do not merge word by word: Round::merge() does it.
  [[nodiscard]] bool merges_itself() const { return merge.kind == MergeKind::add_packed; }
};

/// A contribution in its narrow form: it has room for itself alone, and nothing is added to it.
inline constexpr std::size_t alone = 0;

/// A partial sum whose words have room for so many contributions.
struct PartialSum {
  ConstPayload words;
  std::size_t room = 0;
};

/// A round belongs to one codec object and shares its state. `contributions` is how many ranks'
/// contributions words have room for: those of a sum, or `alone`.
class Round {
 public:
  explicit Round(const RoundTraits& traits) : traits_(traits) {}
  virtual ~Round() = default;
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  [[nodiscard]] const RoundTraits& traits() const { return traits_; }

  /// Most words of a piece (of the vector, for scope `vector`).
  [[nodiscard]] virtual std::size_t capacity(std::size_t contributions,
                                             std::size_t elements) const = 0;

  /// Most words of a piece's complete sum once finish() has changed it.
  [[nodiscard]] virtual std::size_t finished_capacity(std::size_t ranks,
                                                      std::size_t elements) const {
    return capacity(ranks, elements);
  }

  /// Words of a payload of `piece` that is not finished, once earlier rounds have agreed on it.
  /// Rounds whose length varies say it where a codec around theirs asks.
  [[nodiscard]] virtual std::size_t length(std::size_t contributions, const Piece& piece);

  /// Elements of a fallback round's own vector, asked once a call when FallbackSize says.
  virtual std::size_t fallback_elements() { return 0; }

  /// Writes this rank's contribution to `piece`; returns the words written. For scope `vector` it
  /// is called for every piece in order, with the same `out`; the last call finishes it.
  virtual std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) = 0;

  /// Makes a sum of contributions that are `alone`, in rank order, with room for as many as it
  /// says; returns the words written.
  virtual std::size_t promote(const Piece& piece, std::span<const ConstPayload> contributions,
                              std::size_t room, Payload sum);

  /// How others can promote each contribution before they add. None: only promote() can.
  [[nodiscard]] virtual std::optional<Promotion> promotion() const { return std::nullopt; }

  /// Merges payloads in the given order, into memory that none of them lies in; returns the words
  /// written. Asked of rounds that merge themselves. @throws Error(transport) for no payload.
  virtual std::size_t merge(const Piece& piece, std::span<const ConstPayload> sources, Payload sum);

  /// Adds partial sums into one that has room for more contributions than any of them, in memory
  /// that none of them lies in; returns the words written. Asked of rounds that grow.
  virtual std::size_t widen(const Piece& piece, std::span<const PartialSum> sources,
                            std::size_t room, Payload sum);

  /// Changes a complete sum before anybody sees it, in place: `sum` has room for the capacity and
  /// holds `words` words. A function of the sum alone, so that it is the same whatever the
  /// algorithm. Returns the words left: finished_capacity(), or fewer where its length varies.
  virtual std::size_t finish(const Piece& /*piece*/, Payload /*sum*/, std::size_t words) {
    return words;
  }

  /// Writes the output elements of `piece` from a sum of `contributions` contributions. Not asked
  /// of rounds before the payload.
  virtual void decode(const Piece& piece, ConstPayload sum, std::size_t contributions);

  /// Where the words that this round agrees on will lie, until the next call. Of rounds before the
  /// payload.
  void keep_agreed_in(const AgreedPayload& words) { agreed_ = &words; }

 protected:
  /// What this round agreed on; later rounds ask it through functions of the derived class.
  [[nodiscard]] ConstPayload agreed(const Piece& piece) const { return agreed_->words(piece); }

 private:
  RoundTraits traits_;
  const AgreedPayload* agreed_ = nullptr;
};

}  // namespace cohom
