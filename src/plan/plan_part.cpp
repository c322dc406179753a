#include "plan/plan_part.hpp"

#include <cohom/error.hpp>

#include <cstdint>
#include <string>

namespace cohom {

namespace {

void check_root(const PlanShape& shape, int ranks) {
  if (shape.collective == ReductionKind::reduce && (shape.root < 0 || shape.root >= ranks))
    throw Error(ErrorKind::invalid_argument, "root is " + std::to_string(shape.root) +
                                                 "; it should be 0 to " +
                                                 std::to_string(ranks - 1));
}

}  // namespace

PlanPart::PlanPart(const PlanShape& shape, int rank, int ranks)
    : shape_(shape),
      rank_(static_cast<std::size_t>(rank)),
      ranks_(static_cast<std::size_t>(ranks)),
      part_(shape.count) {
  check_root(shape, ranks);
  static_cast<void>(shape.elements(ranks));
}

bool PlanPart::align(std::size_t block) {
  if (!scatters() || part_ % block == 0) return false;
  part_ += block - part_ % block;
  // The same check as of the user's count.
  PlanShape padded = shape_;
  padded.count = part_;
  static_cast<void>(padded.elements(static_cast<int>(ranks_)));
  return true;
}

void PlanPart::work_in(Memory& memory, bool decodes_all) {
  memory_ = &memory;
  decodes_all_ = decodes_all;
}

void PlanPart::take_memory() {
  const auto take = [this](MemoryArray<std::byte>& array, std::size_t bytes) {
    if (array.size() != bytes) array = {*memory_, bytes};
  };
  if (is_padded()) take(input_, bytes_of(elements()));
  if (stages_all() || staged_) take(output_, staged_bytes());
}

std::size_t PlanPart::memory_bytes() const {
  return (is_padded() ? bytes_of(elements()) : 0) + (stages_all() ? staged_bytes() : 0);
}

std::size_t PlanPart::first_wanted() const { return decodes_all_ ? 0 : own_first(); }

std::size_t PlanPart::end_wanted() const {
  if (decodes_all_) return elements();
  if (scatters()) return own_first() + part_;
  return gets_some() ? elements() : 0;
}

void PlanPart::prepare(const void* input, void* output) {
  user_input_ = input;
  user_output_ = output;
  // In place the output lies over the input of another part.
  staged_ = stages_all() || (scatters() && input == output);
}

void PlanPart::take_input() {
  if (!is_padded()) return;
  const auto* const from = static_cast<const std::byte*>(user_input_);
  const std::size_t bytes = bytes_of(shape_.count);
  for (std::size_t r = 0; r < ranks_; ++r)
    memory_->copy(input_.data() + r * bytes_of(part_), from + r * bytes, bytes);
}

// Not pointers into what they are computed from: nobody uses them for elements that are not there.

const void* PlanPart::input() const {
  if (is_padded()) return input_.data();
  if (!shape_.gathers() || user_input_ == nullptr) return user_input_;
  const auto begin = reinterpret_cast<std::uintptr_t>(user_input_);
  return reinterpret_cast<const void*>(begin - rank_ * bytes_of(part_));
}

void* PlanPart::output() const {
  if (!staged_ && !gets_some()) return nullptr;
  const auto begin =
      reinterpret_cast<std::uintptr_t>(staged_ ? static_cast<void*>(output_.data()) : user_output_);
  return reinterpret_cast<void*>(begin - bytes_of(decodes_all_ ? 0 : own_first()));
}

void PlanPart::write_output() {
  if (!staged_ || !gets_some()) return;
  const std::size_t first = decodes_all_ ? own_first() : 0;
  memory_->copy(user_output_, output_.data() + bytes_of(first), bytes_of(shape_.count));
}

}  // namespace cohom
