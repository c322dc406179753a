#pragma once
// SteppedRound: one round as steps that somebody else does. Each rank owns one piece of the vector:
// what owners add goes to them.

#include "codecs/common/round.hpp"
#include "rounds/round_shape.hpp"
#include "rounds/round_words.hpp"
#include "rounds/step_words.hpp"

#include <cohom/reduction_kind.hpp>
#include <cohom/rounds.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cohom {

class SteppedRound {
 public:
  SteppedRound(int rank, int ranks, const RoundsOptions& options);

  /// Encodes this rank's contributions. `agreed`: where a round before the payload leaves its sums,
  /// which decodes nothing. All stays where it is until next() returns null, and the round is over.
  /// `collective`: of an allreduce all ranks get all sums; of a reduce_scatter each the sum of its
  /// piece; of an allgather all get all pieces, of which each rank encodes its own.
  void begin(Round& round, std::span<const Piece> pieces, RoundWords& agreed,
             ReductionKind collective);
  [[nodiscard]] bool has_begun() const { return round_ != nullptr; }
  void give_up() { round_ = nullptr; }
  /// Takes what the last step gave, and says the next; null: the sums are there, and decoded.
  /// @throws Error(transport)
  const RoundStep* next();

 private:
  /// What the step that was given last is for.
  enum class Stage : std::uint8_t {
    first,          ///< none
    reduced,        ///< sums
    gathered,       ///< contributions of all ranks to all pieces, which each rank adds
    lengths,        ///< of contributions to this rank's piece
    contributions,  ///< to this rank's piece
    sum_lengths,    ///< of all owners' sums
    sums,           ///< of all owners
  };

  [[nodiscard]] const RoundTraits& traits() const { return round_->traits(); }
  /// Rank r owns piece r; a short vector has none for the last ranks.
  [[nodiscard]] const Piece* own_piece() const;

  [[nodiscard]] bool scatters() const { return collective_ == ReductionKind::reduce_scatter; }
  [[nodiscard]] bool gathers() const { return collective_ == ReductionKind::allgather; }

  void encode();
  void encode_own_piece();
  const RoundStep* first_step();
  /// One word for each rank, and from each.
  const RoundStep* lengths_step();
  const RoundStep* sum_lengths_step();
  const RoundStep* exchange_step(Stage stage, Collective kind, ConstPayload send);
  const RoundStep* gather_step();
  const RoundStep* contributions_step();
  const RoundStep* sums_step();
  void take_reduced();
  void take_gathered();
  /// Lengths of what others send next; `most_of(rank)` is what they can be.
  template <class MostOf>
  void take_lengths(std::string_view what, MostOf most_of);
  void take_contribution_lengths();
  void take_sum_lengths();
  void add_contributions();
  void take_sums();
  void decode();
  /// The words of a piece's sum.
  [[nodiscard]] ConstPayload sum_of(const Piece& piece) const;
  void merge(const Piece& piece, std::span<const ConstPayload> sources, RoundWords& sums);

  std::size_t rank_, ranks_;
  RoundsOptions options_;
  Round* round_ = nullptr;
  ReductionKind collective_ = ReductionKind::allreduce;
  RoundShape shape_;
  std::span<const Piece> pieces_;
  Stage stage_ = Stage::first;
  RoundWords contributions_;  ///< of this rank
  RoundWords own_sum_;        ///< of this rank's piece
  RoundWords decoded_;        ///< sums that nobody keeps
  RoundWords* sums_ = nullptr;
  std::vector<std::uint64_t> lengths_;
  StepWords step_;
};

}  // namespace cohom
