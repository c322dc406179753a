#include "plan/plan_vector.hpp"

#include <utility>

namespace cohom {

std::unique_ptr<Codec> PlanVector::align_part(PlanCodec& codec, std::unique_ptr<Codec> made) {
  while (part->align(made->block())) {
    count = part->elements();
    codec.set_elements(count);
    made = codec.make();
  }
  return made;
}

std::string PlanVector::state_key(const std::string& codec) const {
  std::string key = (part ? shape.text() + ", " : "") + codec + ", " + shape.vector_text(ranks);
  if (count != shape.elements(ranks))
    key += ", padded to " + std::to_string(count / static_cast<std::size_t>(ranks));
  return key;
}

}  // namespace cohom
