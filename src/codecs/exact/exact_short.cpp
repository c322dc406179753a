#include "codecs/exact/exact_short.hpp"

#include "codecs/exact/exact_own_values.hpp"

namespace cohom {

using kernels::body::ExactWideShape;
using kernels::body::store_raw;
using kernels::body::with_element_type;

ExactShortPayload::ExactShortPayload(const CodecContext& context, bool many,
                                     const CallBuffers& call)
    : Round({.name = "payload", .merge = {MergeKind::add}, .time = RoundTime::payload}),
      type_(context.type),
      memory_(context.memory),
      divisor_(context),
      many_(many),
      widths_(exact_widths_of(context)),
      shape_(
          with_element_type(context.type, []<class T>(T) { return ExactWideShape::of_any<T>(); })),
      call_(call) {
  if (memory_.is_host()) return;
  elements_.resize(context.elements * size_of(type_));
  words_.resize(capacity(alone, context.elements));
}

void ExactShortPayload::encode_on_host(const Piece& piece, const void* elements,
                                       std::uint64_t* words) const {
  with_element_type(type_, [&]<class T>(T) {
    const ExactOwnValues<T> values(call_, piece.first, elements);
    for (std::size_t i = 0; i < piece.count; ++i)
      shape_.encode(widths_, values(i, 0), words + i * shape_.words(widths_));
  });
  if (many_) words[piece.count * shape_.words(widths_)] = own_vectors(call_);
}

std::size_t ExactShortPayload::encode(std::size_t contributions, const Piece& piece, Payload out) {
  const std::size_t words = capacity(contributions, piece.count);
  if (memory_.is_host()) {
    encode_on_host(piece, call_.input_at(piece.first), out.data());
    return words;
  }
  memory_.to_host(elements_.data(), call_.input_at(piece.first), piece.count * size_of(type_));
  encode_on_host(piece, elements_.data(), words_.data());
  memory_.from_host(out.data(), words_.data(), 8 * words);
  return words;
}

void ExactShortPayload::decode_on_host(const Piece& piece, const std::uint64_t* words,
                                       std::size_t contributions, void* elements) const {
  const std::size_t each = shape_.words(widths_);
  const std::uint64_t divisor = many_ ? divisor_.of(words[piece.count * each]) : divisor_.of_call();
  if (divisor == 0) return divisor_.write_none(piece.count, elements);
  with_element_type(type_, [&]<class T>(T) {
    for (std::size_t i = 0; i < piece.count; ++i)
      store_raw<T>(elements, i,
                   shape_.decode<T>(widths_, words + i * each, contributions, divisor));
  });
}

void ExactShortPayload::decode(const Piece& piece, ConstPayload sum, std::size_t contributions) {
  if (memory_.is_host())
    return decode_on_host(piece, sum.data(), contributions, call_.output_at(piece.first));
  memory_.to_host(words_.data(), sum.data(), sum.size_bytes());
  decode_on_host(piece, words_.data(), contributions, elements_.data());
  memory_.from_host(call_.output_at(piece.first), elements_.data(), piece.count * size_of(type_));
}

}  // namespace cohom
