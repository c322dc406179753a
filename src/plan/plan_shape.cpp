#include "plan/plan_shape.hpp"

#include "base/text.hpp"
#include "base/vector_bytes.hpp"

#include <cohom/error.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom {

std::string PlanShape::text() const {
  std::string text(name_of(collective));
  if (collective == ReductionKind::reduce) text += " to rank " + std::to_string(root);
  return text;
}

std::string PlanShape::vector_text(int ranks) const {
  return std::to_string(count) + " elements of " + std::string(name_of(type)) + " on " +
         counted(static_cast<std::uint64_t>(ranks), "rank");
}

std::size_t PlanShape::elements(int ranks) const {
  vector_bytes(count, type);
  if (!has_parts()) return count;
  const auto parts = static_cast<std::size_t>(ranks);
  const std::size_t most = PTRDIFF_MAX / size_of(type) / parts;
  if (count > most)
    throw Error(ErrorKind::invalid_argument,
                "count " + std::to_string(count) + " overflows: " + std::to_string(ranks) +
                    " parts of " + std::string(name_of(type)) + " have at most " +
                    std::to_string(most) + " elements each");
  return count * parts;
}

BufferBytes PlanShape::bytes_of_rank(int rank, int ranks) const {
  const std::size_t all = elements(ranks) * size_of(type), part = count * size_of(type);
  if (gathers()) return {.input = part, .output = all};
  return {.input = all, .output = gives_to(rank) ? part : 0};
}

}  // namespace cohom
