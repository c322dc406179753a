#include "codecs/common/outlier_round.hpp"

#include "codecs/common/long_accumulator.hpp"
#include "kernels/core/body/element.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace cohom {
namespace {

using namespace kernels::body;

/// Adds in f64 while that is exact, which it is of numbers of like size, so that few need more.
template <class T>
std::optional<Arithmetic<T>> quick_sum(std::span<const ConstPayload> contributions, std::size_t i,
                                       std::uint64_t divisor) {
  double sum = 0, lost = 0;
  for (const ConstPayload words : contributions) {
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

RoundTraits make_traits(int ranks, FallbackSize fallback_size) {
  return {.name = "escape",
          .merge = {MergeKind::add},
          .time = RoundTime::behind_payload,
          .scope = RoundScope::fallback,
          .contributions = Contributions::narrow,
          .sums = ranks > 1 ? CompleteSums::finished : CompleteSums::as_merged,
          .fallback_size = fallback_size,
          .algorithm = RoundAlgorithm::by_size};
}

}  // namespace

OutlierRound::OutlierRound(const CodecContext& context, const CallBuffers& call, Find find)
    : Round(make_traits(context.ranks, FallbackSize::when_agreed)),
      type_(context.type),
      ranks_(static_cast<std::size_t>(context.ranks)),
      sum_words_(LongAccumulator::words(context.type)),
      divisor_(context.divisor),
      memory_(context.memory),
      window_(memory_),
      call_(call),
      find_(std::move(find)),
      travels_(Travels::feedback),
      blocks_(context.workers) {}

OutlierRound::OutlierRound(const CodecContext& context, const CallBuffers& call, Travels travels)
    : Round(make_traits(context.ranks, FallbackSize::when_payload_decoded)),
      type_(context.type),
      ranks_(static_cast<std::size_t>(context.ranks)),
      sum_words_(LongAccumulator::words(context.type)),
      divisor_(context.divisor),
      memory_(context.memory),
      window_(memory_),
      call_(call),
      travels_(travels),
      blocks_(context.workers) {}

std::size_t OutlierRound::fallback_elements() {
  if (find_) {
    blocks_.clear();
    find_(blocks_);
  }
  return blocks_.sort();
}

/// What was left over travels, and nothing is left over.
void OutlierRound::take_feedback(std::byte* feedback, std::size_t count, std::byte* elements) {
  with_element_type(type_, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    const std::byte* const from = window_.read(feedback, count * sizeof(Real));
    for (std::size_t i = 0; i < count; ++i)
      store_element<T>(elements, i, load_element<Real>(from, i));
    memory_.zero(feedback, count * sizeof(Real));
  });
}

std::size_t OutlierRound::encode(std::size_t contributions, const Piece& piece, Payload out) {
  if (contributions == alone || ranks_ == 1) return encode_elements(piece, out);
  // Elements are behind the place of the sums that are made of them.
  const std::size_t words = words_of(piece.count);
  const Payload elements = out.subspan(capacity(contributions, piece.count) - words, words);
  encode_elements(piece, elements);
  const ConstPayload sources[] = {elements};
  return add_some(piece, sources, out);
}

std::size_t OutlierRound::encode_elements(const Piece& piece, Payload out) {
  const std::size_t words = words_of(piece.count);
  out[words - 1] = 0;  // the padding of a ragged last word
  auto* const bytes = reinterpret_cast<std::byte*>(out.data());
  const std::size_t left = feedback_size(type_);
  blocks_.for_each_block_of(piece, [&](std::size_t offset, std::size_t block, std::size_t length) {
    std::byte* const feedback = call_.feedback_at(block);
    if (feedback != nullptr && travels_ == Travels::input) memory_.zero(feedback, length * left);
    HostWindow::for_each_run(length, [&](std::size_t done, std::size_t count) {
      std::byte* const to = bytes + (offset + done) * size_of(type_);
      if (feedback != nullptr && travels_ == Travels::feedback)
        take_feedback(feedback + done * left, count, to);
      else
        memory_.to_host(to, call_.input_at(block + done), count * size_of(type_));
    });
  });
  return words;
}

/// `sums` may begin before the only contribution and overlap it.
std::size_t OutlierRound::add_some(const Piece& piece, std::span<const ConstPayload> contributions,
                                   Payload sums) const {
  LongAccumulator exact;
  with_element_type(type_, [&]<class T>(T) {
    for (std::size_t i = 0; i < piece.count; ++i) {
      exact.clear();
      for (const ConstPayload from : contributions) exact.add(load_element<T>(from.data(), i));
      exact.store(type_, sums.subspan(i * sum_words_, sum_words_));
    }
  });
  return piece.count * sum_words_;
}

std::size_t OutlierRound::promote(const Piece& piece, std::span<const ConstPayload> contributions,
                                  std::size_t /*room*/, Payload sum) {
  if (contributions.size() != ranks_) return add_some(piece, contributions, sum);
  const std::size_t words = words_of(piece.count);
  sum[words - 1] = 0;  // the padding of a ragged last word
  LongAccumulator exact;
  with_element_type(type_, [&]<class T>(T) {
    for (std::size_t i = 0; i < piece.count; ++i) {
      auto result = quick_sum<T>(contributions, i, divisor_);
      if (!result) {
        exact.clear();
        for (const ConstPayload from : contributions) exact.add(load_element<T>(from.data(), i));
        result = static_cast<Arithmetic<T>>(exact.rounded(type_, divisor_));
      }
      store_element<T>(sum.data(), i, *result);
    }
  });
  return words;
}

/// promote() has rounded the sums of all ranks' elements.
std::size_t OutlierRound::finish(const Piece& piece, Payload sum, std::size_t words) {
  const std::size_t finished = words_of(piece.count);
  if (words == finished) return words;
  LongAccumulator exact;
  auto* const bytes = reinterpret_cast<std::byte*>(sum.data());
  with_element_type(type_, [&]<class T>(T) {
    for (std::size_t i = 0; i < piece.count; ++i) {
      exact.load(type_, sum.subspan(i * sum_words_, sum_words_));
      store_element<T>(bytes, i, static_cast<Arithmetic<T>>(exact.rounded(type_, divisor_)));
    }
  });
  std::fill(bytes + piece.count * size_of(type_), bytes + 8 * finished, std::byte{0});
  return finished;
}

void OutlierRound::decode(const Piece& piece, ConstPayload sum, std::size_t /*contributions*/) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(sum.data());
  blocks_.for_each_block_of(piece, [&](std::size_t offset, std::size_t block, std::size_t length) {
    // Neighbouring blocks come as one, whose part each is.
    const auto wanted = call_.wanted_of(block, length);
    if (wanted.count == 0) return;
    memory_.from_host(call_.output_at(wanted.first),
                      bytes + (offset + wanted.first - block) * size_of(type_),
                      wanted.count * size_of(type_));
  });
}

}  // namespace cohom
