#pragma once
// AgreementWords: what ranks tell each other to agree on a call, and what this rank has heard: the
// maximum, word by word, of what ranks have; and whether the vectors of all of them travel with it.
//
// Ranks decide by these words what they do next, so each message carries a checksum: words that
// were changed on their way are an error, not another decision.

#include "agreement/call_pace.hpp"
#include "agreement/short_sum.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

class AgreementWords {
 public:
  /// What travels (docs/wire-format.md). Of `elements` there is no maximum: it says what stands
  /// behind the table, and the ranks' pace.
  struct Table {
    std::uint64_t checksum = 0;
    std::uint64_t error = 0;
    std::uint64_t unready = 0;  ///< to offload
    std::uint64_t hash = 0;
    std::uint64_t complement = 0;
    std::uint64_t elements = 0;
  };
  static constexpr std::size_t max_bytes = sizeof(Table) + ShortSum::section_bytes;

  /// What another rank told, checked.
  struct Arrived {
    Table table;
    const std::byte* elements = nullptr;  ///< behind the table
    std::size_t bytes = 0;                ///< of the whole vector
  };

  /// This rank has told nobody, and heard of nobody. `sum`, which has begun and outlives this, may
  /// be null.
  void begin(const Table& own, const CallPace& pace, ShortSum* sum);
  /// The message that tells all this rank has heard; in the memory of this, or of the sum.
  [[nodiscard]] std::span<const std::byte> message();
  /// The same on a board: the words, and behind them this rank's vector, which may be empty.
  struct Post {
    std::span<const std::byte> words, vector;
  };
  [[nodiscard]] Post post();
  /// The same of a rank that takes no other part in the call.
  [[nodiscard]] std::span<const std::byte> message_of(const Table& own);
  /// What is used of the table is read once: a message may lie in another process's memory.
  /// @throws Error(transport) for words that were changed on their way, or are none
  static Arrived read(std::span<const std::byte> message, int ranks, int from);
  /// The same of a post, in which a vector is whole.
  static Arrived read_post(std::span<const std::byte> post, int ranks, int from);
  /// The words and the pace, and whether the sum still has all that arrived.
  void merge(const Table& arrived);

  [[nodiscard]] const Table& maximum() const { return maximum_; }
  [[nodiscard]] bool calls_differ() const { return maximum_.hash != ~maximum_.complement; }
  /// As far as this rank has heard.
  [[nodiscard]] bool all_make_this_call() const { return maximum_.error == 0 && !calls_differ(); }
  /// Null, too, where some rank that was heard of has none like it.
  [[nodiscard]] ShortSum* sum() const { return sum_; }
  /// Of all ranks that were heard of.
  [[nodiscard]] const CallPace& pace() const { return pace_; }

 private:
  [[nodiscard]] Table own_table(std::span<const std::byte> elements) const;

  Table maximum_, leaving_;
  CallPace pace_;
  ShortSum* sum_ = nullptr;
};

}  // namespace cohom
