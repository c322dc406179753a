#include "plan/plan_shape.hpp"

#include "base/vector_bytes.hpp"

#include <cohom/error.hpp>

#include <cstddef>

namespace cohom {

std::string PlanShape::text() const {
  std::string text(name_of(collective));
  if (collective == ReductionKind::reduce) text += " to rank " + std::to_string(root);
  return text;
}

std::size_t PlanShape::elements(int ranks) const {
  vector_bytes(count, type);
  if (collective != ReductionKind::reduce_scatter) return count;
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
  return {.input = elements(ranks) * size_of(type),
          .output = gives_to(rank) ? count * size_of(type) : 0};
}

}  // namespace cohom
