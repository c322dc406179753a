#include "codecs/escape_round.hpp"

#include "kernels/body/element.hpp"

#include <cstring>

namespace cohom {
namespace {

void take_feedback(ElementType type, std::byte* feedback, std::size_t count, std::byte* elements) {
  using namespace kernels::body;
  with_element_type(type, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    for (std::size_t i = 0; i < count; ++i) {
      store_element<T>(elements, i, load_element<Real>(feedback, i));
      store_element<Real>(feedback, i, Real{0});
    }
  });
}

/// count elements of `type` at `from`, in f64.
void widen(ElementType type, const std::byte* from, std::size_t count, std::byte* to) {
  using namespace kernels::body;
  with_element_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) store_element<double>(to, i, load_element<T>(from, i));
  });
}

void narrow(ElementType type, const std::byte* from, std::byte* to) {
  using namespace kernels::body;
  with_element_type(type, [&]<class T>(T) {
    store_element<T>(to, 0, static_cast<Arithmetic<T>>(load_element<double>(from, 0)));
  });
}

}  // namespace

EscapeRound::EscapeRound(const CodecContext& context, ElementType added_in)
    : type_(context.type),
      added_in_(added_in),
      divisor_(context.divisor),
      kernels_(context.kernels) {}

RoundInfo EscapeRound::info(ElementType added_in) {
  return {.name = "escape",
          .merge = {MergeKind::add_float, added_in},
          .scope = RoundScope::late,
          .algorithm = "direct"};
}

std::size_t EscapeRound::encode(const Piece& piece, const void* input, std::byte* feedback,
                                Words out) const {
  const std::size_t words = capacity(piece.count);
  out[words - 1] = 0;  // the padding of a ragged last word
  auto* const bytes = reinterpret_cast<std::byte*>(out.data());
  blocks_.for_each_block_of(piece, [&](std::size_t offset, std::size_t first, std::size_t count) {
    std::byte* const to = bytes + offset * size_of(added_in_);
    if (added_in_ != type_)
      widen(type_, static_cast<const std::byte*>(input) + first * size_of(type_), count, to);
    else if (feedback != nullptr)
      take_feedback(type_, feedback + first * feedback_size(type_), count, to);
    else
      std::memcpy(to, static_cast<const std::byte*>(input) + first * size_of(type_),
                  count * size_of(type_));
  });
  return words;
}

std::size_t EscapeRound::encode_input(const Piece& piece, const void* input, std::byte* feedback,
                                      Words out) const {
  if (feedback != nullptr)
    blocks_.for_each_block_of(piece, [&](std::size_t, std::size_t first, std::size_t count) {
      std::memset(feedback + first * feedback_size(type_), 0, count * feedback_size(type_));
    });
  return encode(piece, input, nullptr, out);
}

void EscapeRound::decode(const Piece& piece, ConstWords sum, void* output) const {
  const auto* const bytes = reinterpret_cast<const std::byte*>(sum.data());
  blocks_.for_each_block_of(piece, [&](std::size_t offset, std::size_t first, std::size_t count) {
    auto* const to = static_cast<std::byte*>(output) + first * size_of(type_);
    const std::byte* from = bytes + offset * size_of(added_in_);
    if (added_in_ != type_) {
      for (std::size_t i = 0; i < count; ++i)
        narrow(type_, from + i * size_of(added_in_), to + i * size_of(type_));
      from = to;
    }
    kernels_.finish_elements(type_, from, count, divisor_, to);
  });
}

}  // namespace cohom
