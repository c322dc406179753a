#include "rounds/step_words.hpp"

#include <numeric>

namespace cohom {

namespace {

constexpr std::uint64_t sign_bits = 0x8000'0000'8000'0000u;  // of the halves of a word

StepNumbers numbers_of(MergeKind kind, bool has_unsigned) {
  switch (kind) {
    case MergeKind::max: return has_unsigned ? StepNumbers::u32 : StepNumbers::i32;
    case MergeKind::max8: return StepNumbers::u8;
    case MergeKind::max16: return StepNumbers::u16;
    default: return has_unsigned ? StepNumbers::u64 : StepNumbers::i64;
  }
}

std::size_t numbers_a_word(StepNumbers type) {
  switch (type) {
    case StepNumbers::u8: return 8;
    case StepNumbers::u16: return 4;
    case StepNumbers::u32:
    case StepNumbers::i32: return 2;
    default: return 1;
  }
}

/// Between unsigned numbers of 32 bits and signed ones of the same order.
void flip_signs(Payload words) {
  for (std::uint64_t& word : words) word ^= sign_bits;
}

}  // namespace

const RoundStep* StepWords::reduce(std::string_view name, Merge merge, Payload words) {
  const bool is_small_max = merge.kind == MergeKind::max8 || merge.kind == MergeKind::max16;
  step_ = {};
  step_.kind = Collective::all_reduce;
  step_.name = name;
  step_.operation = is_small_max ? MergeKind::max : merge.kind;
  step_.type = numbers_of(merge.kind, has_unsigned_);
  step_.numbers = words.size() * numbers_a_word(step_.type);
  step_.words = words;
  if (step_.type == StepNumbers::i32) flip_signs(words);
  return &step_;
}

void StepWords::end_reduction() {
  if (step_.type == StepNumbers::i32) flip_signs(step_.words);
}

const RoundStep* StepWords::exchange(std::string_view name, Collective kind, ConstPayload send) {
  received_.resize(std::accumulate(receive_counts_.begin(), receive_counts_.end(), std::size_t{0}));
  step_ = {};
  step_.kind = kind;
  step_.name = name;
  step_.send = send;
  step_.send_counts = send_counts_;
  step_.receive = received_;
  step_.receive_counts = receive_counts_;
  return &step_;
}

std::vector<ConstPayload> StepWords::received_parts() const {
  std::vector<ConstPayload> parts;
  std::size_t begin = 0;
  for (const std::size_t count : receive_counts_) {
    parts.push_back(ConstPayload(received_).subspan(begin, count));
    begin += count;
  }
  return parts;
}

}  // namespace cohom
