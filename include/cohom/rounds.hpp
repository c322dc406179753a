#pragma once
// Rounds: a codec without a transport. Whoever has a way to reduce integers over ranks (MPI,
// gloo, NCCL, a switch) can sum compressed vectors: cohom says what has to be reduced, and somebody
// else does it. docs/rounds.md

#include <cohom/cxx20.hpp>

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>
#include <cohom/options.hpp>
#include <cohom/reduction_kind.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cohom {

/// What all ranks do with words in a step, with any library that can.
enum class Collective : std::uint8_t {
  all_reduce,  ///< RoundStep::words become, in place, their sum, maximum or bitwise or over ranks
  all_to_all,  ///< part r of `send` becomes, on rank r, part s of `receive`, where s is this rank
  all_gather,  ///< `send` becomes, on each rank, part s of `receive`, where s is this rank
};

/// What words are to who reduces them: an array of these.
enum class StepNumbers : std::uint8_t { u8, u16, u32, u64, i32, i64 };

/// What a rank has to do next. All ranks have steps of the same kind in the same order. Counts are
/// of 64-bit words, but for `numbers`; spans hold until the next call of Rounds::next().
struct RoundStep {
  Collective kind = Collective::all_reduce;
  std::string_view name;  ///< of the round, for logs

  // Of all_reduce: as many words on all ranks.
  MergeKind operation = MergeKind::add;  ///< add, bit_or or max (also of 8 and 16 bits)
  StepNumbers type = StepNumbers::u64;   ///< words are `numbers` of this type
  std::size_t numbers = 0;
  std::span<std::uint64_t> words;

  // Of the others.
  std::span<const std::uint64_t> send;
  std::span<const std::size_t> send_counts;  ///< by rank, parts one behind the other; of all_gather
                                             ///< one
  std::span<std::uint64_t> receive;
  std::span<const std::size_t> receive_counts;  ///< by rank, parts one behind the other
};

/// What the reductions at hand can do.
struct RoundsOptions {
  /// allreduce, reduce_scatter or allgather.
  ReductionKind collective = ReductionKind::allreduce;
  ReduceOp op = ReduceOp::sum;
  /// Contributions go to owners by all_to_all and sums come back by all_gather wherever that is
  /// less to send: for 3 ranks and more (of a reduce_scatter for 2, too), but for short rounds.
  /// Else by all_reduce where there is one for the round's words. Some rounds go to owners whatever
  /// is asked for, such as exact sums of NaNs: all three collectives must be at hand.
  bool all_to_all = false;
  bool has_bit_or = true;     ///< all_reduce has a bitwise or
  bool has_small_max = true;  ///< all_reduce has a maximum of unsigned numbers of 8 and 16 bits
  bool has_unsigned = true;   ///< else numbers of 32 and 64 bits are i32 and i64
  /// Only the first call that goes well compares the ranks' arguments, which saves later ones a
  /// step: then a rank whose arguments are wrong has an error alone.
  bool checks_once = false;
};

class RoundsImpl;

/// The rounds of allreduces of one kind: one codec, count and type; or of reduce_scatters or
/// allgathers (<cohom/reductions.hpp>). Not thread-safe. Uses the host's memory. Results have the
/// bits of the same codec's calls by `direct` (docs/wire-format.md) with a segment as long as the
/// vector, on all ranks, however words travel.
class Rounds {
 public:
  /// `codec`: a spec, such as "thc:bits=4"; `count`: elements of a rank's part, where vectors have
  /// parts, else of the vector; for 0 <= rank < ranks; Local; alike on all ranks, which the first
  /// step of each call checks. @throws Error(invalid_argument) for a wrong codec, collective, type,
  /// rank or number of ranks; Error(unsupported) for an allgather by a codec that keeps state
  Rounds(std::string_view codec, std::size_t count, ElementType type, int rank, int ranks,
         const RoundsOptions& options = {});
  Rounds(Rounds&&) noexcept;
  Rounds& operator=(Rounds&&) noexcept;
  ~Rounds();

  /// Begins a call: `output` := sum or mean over ranks of `input`, of `count` elements each. Of a
  /// reduce_scatter `input` has a part for each rank, and `output` is this rank's part of the sum;
  /// of an allgather `output` has a part of each rank. They are equal (of an allgather `input` is
  /// this rank's part of `output`) or do not overlap, and stay untouched until next() returns null.
  /// `step` numbers the call on all ranks alike, and seeds its random draws. A call that was begun
  /// before is given up. What is wrong comes out of next(), on all ranks.
  void begin(const void* input, void* output, std::uint64_t step);

  /// Takes what the last step gave, and says the next one; null: the output is there.
  /// @throws Error behind the first step on all ranks alike: invalid_argument, unsupported or
  /// mismatch (but see checks_once). Later on this rank, which must end the others' calls itself:
  /// transport for words that no rank can have sent, and lack of memory. Error(state) when no call
  /// was begun. Then the call is over.
  const RoundStep* next();

  /// What the codec keeps between calls (error feedback), to be saved and put back between calls;
  /// empty where it keeps nothing.
  [[nodiscard]] std::span<std::byte> state();
  /// The spec, with every parameter that differs from its default.
  [[nodiscard]] std::string codec() const;

 private:
  std::unique_ptr<RoundsImpl> impl_;
};

}  // namespace cohom
