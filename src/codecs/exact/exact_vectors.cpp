#include "codecs/exact/exact_vectors.hpp"

#include "codecs/common/agreed_value.hpp"
#include "codecs/exact/exact_accumulator.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/exact/body/exact_format.hpp"

#include <string>

namespace cohom {

std::uint64_t own_vectors(const CallBuffers& call) {
  return call.added == nullptr ? 1 : call.added->vectors();
}

ExactVectorsRound::ExactVectorsRound(const CallBuffers& call)
    : Round({.name = "vectors",
             .merge = {MergeKind::add},
             .scope = RoundScope::vector,
             .independent = true}),
      call_(call) {}

std::size_t ExactVectorsRound::encode(std::size_t, const Piece&, Payload out) {
  out[0] = own_vectors(call_);
  return 1;
}

std::uint64_t ExactVectorsRound::vectors() const { return agreed(call_.pieces.front())[0]; }

ExactDivisor::ExactDivisor(const CodecContext& context, const ExactVectorsRound* vectors)
    : type_(context.type), of_ranks_(context.divisor), mean_(context.mean), vectors_(vectors) {}

std::uint64_t ExactDivisor::of_call() const {
  return vectors_ == nullptr ? of_ranks_ : of(vectors_->vectors());
}

std::uint64_t ExactDivisor::of(std::uint64_t vectors) const {
  if (vectors > ExactAccumulator::max_vectors)
    refuse_agreed("exact", "vectors", vectors,
                  "at most " + std::to_string(ExactAccumulator::max_vectors) + " vectors in all");
  return mean_ || vectors == 0 ? vectors : 1;
}

void ExactDivisor::write_none(std::size_t count, void* output) const {
  kernels::body::with_element_type(type_, [&]<class T>(T) {
    const T element = mean_ ? kernels::body::exact_nan<T>() : T{};
    for (std::size_t i = 0; i < count; ++i) kernels::body::store_raw<T>(output, i, element);
  });
}

}  // namespace cohom
