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

}  // namespace

EscapeRound::EscapeRound(const CodecContext& context, std::size_t block)
    : type_(context.type), divisor_(context.divisor), kernels_(context.kernels), blocks_(block) {}

RoundInfo EscapeRound::info(ElementType type) {
  return {.name = "escape",
          .merge = {MergeKind::add_float, type},
          .scope = RoundScope::late,
          .algorithm = "direct"};
}

std::size_t EscapeRound::encode(const Piece& piece, const void* input, std::byte* feedback,
                                Words out) const {
  const std::size_t words = capacity(piece.count);
  out[words - 1] = 0;  // the padding of a ragged last word
  auto* const bytes = reinterpret_cast<std::byte*>(out.data());
  blocks_.for_each_block_of(piece, [&](std::size_t offset, std::size_t first, std::size_t count) {
    std::byte* const to = bytes + offset * size_of(type_);
    if (feedback != nullptr)
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
    kernels_.finish_elements(type_, bytes + offset * size_of(type_), count, divisor_,
                             static_cast<std::byte*>(output) + first * size_of(type_));
  });
}

}  // namespace cohom
