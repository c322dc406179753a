#include "codecs/escape_round.hpp"

#include "kernels/body/element.hpp"

namespace cohom {
namespace {

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
      kernels_(context.on_host()),
      memory_(context.memory),
      window_(memory_) {}

RoundInfo EscapeRound::info(ElementType added_in) {
  return {.name = "escape",
          .merge = {MergeKind::add_float, added_in},
          .scope = RoundScope::late,
          .algorithm = "direct"};
}

/// What was left over travels, and nothing is left over.
void EscapeRound::take_feedback(std::byte* feedback, std::size_t count, std::byte* elements) {
  using namespace kernels::body;
  with_element_type(type_, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    const std::byte* const from = window_.read(feedback, count * sizeof(Real));
    for (std::size_t i = 0; i < count; ++i)
      store_element<T>(elements, i, load_element<Real>(from, i));
    memory_.zero(feedback, count * sizeof(Real));
  });
}

std::size_t EscapeRound::encode(const Piece& piece, const void* input, std::byte* feedback,
                                Words out) {
  const std::size_t words = capacity(piece.count);
  out[words - 1] = 0;  // the padding of a ragged last word
  auto* const bytes = reinterpret_cast<std::byte*>(out.data());
  blocks_.for_each_block_of(piece, [&](std::size_t offset, std::size_t block, std::size_t length) {
    HostWindow::for_each_run(length, [&](std::size_t done, std::size_t count) {
      const std::size_t first = block + done;
      std::byte* const to = bytes + (offset + done) * size_of(added_in_);
      const auto* const from = static_cast<const std::byte*>(input) + first * size_of(type_);
      if (added_in_ != type_)
        widen(type_, window_.read(from, count * size_of(type_)), count, to);
      else if (feedback != nullptr)
        take_feedback(feedback + first * feedback_size(type_), count, to);
      else
        memory_.to_host(to, from, count * size_of(type_));
    });
  });
  return words;
}

std::size_t EscapeRound::encode_input(const Piece& piece, const void* input, std::byte* feedback,
                                      Words out) {
  if (feedback != nullptr)
    blocks_.for_each_block_of(piece, [&](std::size_t, std::size_t first, std::size_t count) {
      memory_.zero(feedback + first * feedback_size(type_), count * feedback_size(type_));
    });
  return encode(piece, input, nullptr, out);
}

void EscapeRound::decode(const Piece& piece, ConstWords sum, void* output) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(sum.data());
  blocks_.for_each_block_of(piece, [&](std::size_t offset, std::size_t block, std::size_t length) {
    HostWindow::for_each_run(length, [&](std::size_t done, std::size_t count) {
      auto* const to = static_cast<std::byte*>(output) + (block + done) * size_of(type_);
      std::byte* const room = window_.room_for(to);
      const std::byte* from = bytes + (offset + done) * size_of(added_in_);
      if (added_in_ != type_) {
        for (std::size_t i = 0; i < count; ++i)
          narrow(type_, from + i * size_of(added_in_), room + i * size_of(type_));
        from = room;
      }
      kernels_.finish_elements(type_, from, count, divisor_, room);
      window_.write(to, count * size_of(type_));
    });
  });
}

}  // namespace cohom
