#include "codecs/common/escape_round.hpp"

#include "codecs/common/exact_sum.hpp"
#include "kernels/core/body/element.hpp"

#include <cmath>
#include <optional>

namespace cohom {
namespace {

using namespace kernels::body;

/// Adds in f64 while that is exact, which it is of numbers of like size, so that few need more.
template <class T>
std::optional<Arithmetic<T>> quick_sum(std::span<const ConstWords> contributions, std::size_t i,
                                       std::uint64_t divisor) {
  double sum = 0, lost = 0;
  for (const ConstWords words : contributions) {
    const double value = load_element<T>(words.data(), i);
    const double next = sum + value;
    const double added = next - sum;
    lost += std::abs((sum - (next - added)) + (value - added));  // Knuth's TwoSum
    sum = next;
  }
  // Of zeros the sign would have to be looked at.
  if (!(lost == 0) || sum == 0) return std::nullopt;
  const auto ranks = static_cast<double>(divisor);
  const double quotient = sum / ranks;
  if (divisor > 1 && std::fma(quotient, ranks, -sum) != 0) return std::nullopt;
  const auto result = static_cast<Arithmetic<T>>(quotient);
  if (sizeof(T) == 2 && static_cast<double>(result) != quotient) return std::nullopt;
  return result;
}

}  // namespace

EscapeRound::EscapeRound(const CodecContext& context)
    : type_(context.type), divisor_(context.divisor), memory_(context.memory), window_(memory_) {}

RoundInfo EscapeRound::info(ElementType type) {
  return {.name = "escape",
          .merge = {MergeKind::add_float, type},
          .scope = RoundScope::late,
          .narrow = true,
          .algorithm = "direct"};
}

/// What was left over travels, and nothing is left over.
void EscapeRound::take_feedback(std::byte* feedback, std::size_t count, std::byte* elements) {
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
      std::byte* const to = bytes + (offset + done) * size_of(type_);
      const auto* const from = static_cast<const std::byte*>(input) + first * size_of(type_);
      if (feedback != nullptr)
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

std::size_t EscapeRound::add(const Piece& piece, std::span<const ConstWords> contributions,
                             Words sum) const {
  const std::size_t words = capacity(piece.count);
  sum[words - 1] = 0;  // the padding of a ragged last word
  ExactSum exact;
  with_element_type(type_, [&]<class T>(T) {
    for (std::size_t i = 0; i < piece.count; ++i) {
      auto result = quick_sum<T>(contributions, i, divisor_);
      if (!result) {
        exact.clear();
        for (const ConstWords from : contributions) exact.add(load_element<T>(from.data(), i));
        result = static_cast<Arithmetic<T>>(exact.rounded(type_, divisor_));
      }
      store_element<T>(sum.data(), i, *result);
    }
  });
  return words;
}

void EscapeRound::decode(const Piece& piece, ConstWords sum, void* output) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(sum.data());
  blocks_.for_each_block_of(piece, [&](std::size_t offset, std::size_t block, std::size_t length) {
    memory_.from_host(static_cast<std::byte*>(output) + block * size_of(type_),
                      bytes + offset * size_of(type_), length * size_of(type_));
  });
}

}  // namespace cohom
