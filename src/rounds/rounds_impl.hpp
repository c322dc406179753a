#pragma once
// RoundsImpl: runs a codec's rounds one after the other, over a transport that is the user's.

#include "agreement/call_signature.hpp"
#include "codecs/common/codec.hpp"
#include "executor/chunking.hpp"
#include "plan/plan_codec.hpp"
#include "plan/plan_part.hpp"
#include "rounds/call_status.hpp"
#include "rounds/round_words.hpp"
#include "rounds/step_words.hpp"
#include "rounds/stepped_round.hpp"

#include <cohom/error.hpp>
#include <cohom/rounds.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  enum class Stage : std::uint8_t {
    idle,    ///< no call
    status,  ///< a call has begun
    agreed,  ///< the last step was about the ranks' status
    rounds,  ///< it was a round's
    over,    ///< the output is there
  };

  /// Whether a rank's part is a chunk of its own; else all ranks get all of the sum.
  [[nodiscard]] bool decodes_parts() const {
    return shape_.has_parts() && plan_codec_.decodes_parts();
  }
  /// The codec, once parts are as long as it wants them to be.
  std::unique_ptr<Codec> make_codec();
  /// What is wrong with buffers; none: part_ is prepared for them.
  [[nodiscard]] std::optional<Error> prepare(const void* input, void* output);
  [[nodiscard]] CallSignature signature(std::uint64_t step) const;
  const RoundStep* status_step();
  /// Null: the call is over.
  const RoundStep* rounds_step();
  /// Whether the round takes part in this call: it has begun.
  bool begin_round(Round& round);

  struct Place {
    int rank = 0;
    int ranks = 1;
  };

  PlanShape shape_;
  Place place_;
  RoundsOptions options_;
  PlanCodec plan_codec_;
  PlanPart part_;
  std::unique_ptr<Codec> codec_;
  Chunking chunking_;
  std::vector<std::byte> state_;
  std::deque<RoundWords> agreed_;  ///< by round: what was agreed on
  SteppedRound stepped_;
  StepWords status_step_;

  // Of the call.
  Stage stage_ = Stage::idle;
  CallStatus status_;
  std::size_t round_ = 0;                   ///< that is next, or has begun
  std::unique_ptr<Chunking> own_chunking_;  ///< of a fallback round
};

}  // namespace cohom
