#pragma once
// PlanVector: what a plan's calls sum, and what codec and executor see of it.

#include "plan/plan_codec.hpp"
#include "plan/plan_part.hpp"
#include "plan/plan_shape.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace cohom {

struct PlanVector {
  /// @throws Error(invalid_argument) for more elements than there are addresses
  PlanVector(const PlanShape& vector, int of_ranks)
      : shape(vector), ranks(of_ranks), count(vector.elements(of_ranks)) {}

  /// Of what codec and executor see.
  [[nodiscard]] std::size_t bytes() const { return count * size_of(shape.type); }
  /// Parts get whole blocks of a codec; returns the codec for that.
  std::unique_ptr<Codec> align_part(PlanCodec& codec, std::unique_ptr<Codec> made);
  /// Names what a state of that codec belongs to: the same text, the same state layout.
  [[nodiscard]] std::string state_key(const std::string& codec) const;

  PlanShape shape;
  int ranks;
  std::optional<PlanPart> part = std::nullopt;  ///< of what is no allreduce
  std::size_t count;                            ///< elements that codec and executor see
  bool decodes_parts = false;                   ///< sums of others' parts go nowhere
};

}  // namespace cohom
