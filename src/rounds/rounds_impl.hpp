#pragma once
// RoundsImpl: runs a codec's rounds one after the other, over a transport that is the user's. Each
// rank owns one piece of the vector: what is summed by owners goes to them.

#include "agreement/call_signature.hpp"
#include "codecs/common/codec.hpp"
#include "executor/chunking.hpp"
#include "plan/plan_codec.hpp"
#include "rounds/round_words.hpp"

#include <cohom/error.hpp>
#include <cohom/rounds.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohom {

class RoundsImpl {
 public:
  /// @throws Error(invalid_argument)
  RoundsImpl(std::string_view codec, std::size_t count, ElementType type, int rank, int ranks,
             const RoundsOptions& options);
  RoundsImpl(const RoundsImpl&) = delete;
  RoundsImpl& operator=(const RoundsImpl&) = delete;

  void begin(const void* input, void* output, std::uint64_t step);
  const RoundStep* next();
  [[nodiscard]] std::span<std::byte> state() { return state_; }
  [[nodiscard]] std::string codec() const { return plan_codec_.spec(); }

 private:
  /// What the step that was given last is for.
  enum class Stage : std::uint8_t {
    idle,           ///< no call
    over,           ///< the output is there
    status,         ///< none: the call has begun
    agreed,         ///< errors and signatures
    round,          ///< none: the next round begins
    reduced,        ///< sums
    gathered,       ///< contributions of all ranks to all pieces, which each rank adds
    lengths,        ///< of contributions to this rank's piece
    contributions,  ///< to this rank's piece
    sum_lengths,    ///< of all owners' sums
    sums,           ///< of all owners
  };
  /// How a round's contributions meet.
  enum class Way : std::uint8_t { reduce, gather, owners };

  [[nodiscard]] Round& round() const { return *codec_->rounds()[round_]; }
  [[nodiscard]] const RoundTraits& traits() const { return round().traits(); }
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(ranks_); }
  [[nodiscard]] bool is_whole() const { return traits().scope == RoundScope::vector; }
  /// Whether contributions are: those to owners, and that of one rank alone, as by `direct`.
  [[nodiscard]] bool is_narrow() const {
    return (way_ == Way::owners || ranks_ == 1) && traits().narrow();
  }
  [[nodiscard]] bool can_reduce(const Merge& merge) const;
  [[nodiscard]] Way choose_way() const;
  /// Rank r owns piece r; a short vector has none for the last ranks.
  [[nodiscard]] const Piece* own_piece() const;
  /// Most words of a rank's contribution to a piece, and of its complete sum.
  [[nodiscard]] std::size_t contribution_capacity(const Piece& piece) const;
  [[nodiscard]] std::size_t sum_capacity(const Piece& piece) const;
  [[nodiscard]] bool sums_have_own_lengths() const;
  /// Where the round's sums belong.
  [[nodiscard]] RoundWords& sums();

  void check_arguments(const void* input, const void* output);
  const RoundStep* status_step();
  void take_status();
  /// Whether the next round takes part in this call.
  bool begin_round();
  void encode();
  const RoundStep* first_step();
  const RoundStep* reduce_step(std::string_view name, Merge merge, Payload words);
  /// One word for each rank, and from each.
  const RoundStep* lengths_step(Stage stage, Collective kind);
  const RoundStep* exchange_step(Stage stage, Collective kind, ConstPayload send);
  const RoundStep* gather_step();
  const RoundStep* contributions_step();
  const RoundStep* sums_step();
  void take_reduced();
  void take_gathered();
  void take_lengths();
  void add_contributions();
  void take_sums();
  void use_sums();
  void merge(const Piece& piece, std::span<const ConstPayload> sources, RoundWords& sums);
  [[nodiscard]] std::vector<ConstPayload> received_parts() const;
  void flip_signs(Payload words) const;

  std::size_t count_;
  ElementType type_;
  int rank_, ranks_;
  RoundsOptions options_;
  PlanCodec plan_codec_;
  std::unique_ptr<Codec> codec_;
  Chunking chunking_;
  std::vector<std::byte> state_;
  std::deque<RoundWords> agreed_;  ///< by round: what was agreed on

  // Of the call.
  Stage stage_ = Stage::idle;
  CallSignature signature_;
  std::optional<Error> error_;  ///< of this rank's arguments
  std::size_t round_ = 0;

  // Of the round.
  Way way_ = Way::reduce;
  std::unique_ptr<Chunking> own_chunking_;  ///< of a fallback round
  std::span<const Piece> pieces_;
  RoundWords contributions_;  ///< of this rank
  RoundWords sums_;           ///< of a round that is decoded
  RoundWords own_sum_;        ///< of this rank's piece
  RoundStep step_;
  std::vector<std::uint64_t> status_, lengths_, received_;
  std::vector<std::size_t> send_counts_, receive_counts_;
};

}  // namespace cohom
