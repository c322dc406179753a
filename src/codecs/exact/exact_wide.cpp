#include "codecs/exact/exact_wide.hpp"

#include "codecs/exact/exact_accumulator.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>

namespace cohom {
namespace {

using kernels::exact_mini;
using kernels::body::ExactHeader;
using kernels::body::ExactMini;
using kernels::body::ExactValue;
using kernels::body::ExactWideShape;
using kernels::body::load_raw;
using kernels::body::store_raw;
using kernels::body::with_element_type;

kernels::body::ExactWidths widths_of(const CodecContext& context) {
  const auto ranks = static_cast<std::size_t>(context.ranks);
  return {{ranks, ranks}, context.type};
}

/// This rank's numbers from an element on, counted from the bit at `low`.
template <class T>
class OwnValues {
 public:
  /// `elements`: those of the input from `first` on, in the host's memory.
  OwnValues(const CallBuffers& call, std::size_t first, const void* elements)
      : added_(call.added), first_(first), elements_(elements) {}
  [[nodiscard]] ExactValue operator()(std::size_t index, unsigned low) const {
    if (added_ != nullptr) return added_->value(first_ + index, low);
    return ExactValue::of(load_raw<T>(elements_, index), low);
  }

 private:
  const ExactAccumulator* added_;
  std::size_t first_;
  const void* elements_;
};

void expect_words(std::size_t words, std::size_t right) {
  if (words != right)
    throw Error(ErrorKind::transport, "exact: a payload of " + std::to_string(words) +
                                          " words came where " + std::to_string(right) +
                                          " were agreed on");
}

}  // namespace

ExactWideRound::ExactWideRound(const CodecContext& context, const ExactVectorsRound& vectors,
                               ExactHeaderRound& header, const CallBuffers& call)
    : Round({.name = "wide",
             .merge = {MergeKind::add},
             .time = RoundTime::behind_payload,
             .scope = RoundScope::fallback,
             .length = PayloadLength::varying,
             .algorithm = RoundAlgorithm::direct}),
      type_(context.type),
      memory_(context.memory),
      widths_(widths_of(context)),
      vectors_(vectors),
      header_(header),
      call_(call) {}

std::size_t ExactWideRound::capacity(std::size_t, std::size_t elements) const {
  return elements * max_words_;
}

template <class Visit>
void ExactWideRound::for_each_wide(const Piece& piece, Visit visit) {
  if (header_.wide_minis(piece) == 0) return;
  with_element_type(type_, [&]<class T>(T) {
    const std::uint64_t* words = header_.header(piece);
    for (std::size_t first = 0; first < piece.count; first += kernels::exact_group) {
      const ExactHeader<T> group(words, std::min(kernels::exact_group, piece.count - first));
      for (std::size_t m = 0; m < group.minis; ++m) {
        const ExactMini mini = group.mini(m);
        const bool zeros = group.counts_zeros(m);
        if (widths_.is_wide(mini, zeros))
          visit(first / exact_mini + m, ExactWideShape::of<T>(mini, zeros));
      }
      words += group.size();
    }
  });
}

std::size_t ExactWideRound::fallback_elements() {
  minis_.clear();
  max_words_ = 0;
  for (const Piece& piece : call_.pieces)
    for_each_wide(piece, [&](std::size_t index, const ExactWideShape& shape) {
      const std::size_t first = index * exact_mini;
      minis_.push_back({piece.first + first, std::min(exact_mini, piece.count - first), shape});
      max_words_ = std::max(max_words_, shape.words(widths_));
    });
  std::ranges::sort(minis_, {}, &Mini::first);
  return minis_.empty() ? 0 : (minis_.size() - 1) * exact_mini + minis_.back().count;
}

std::span<const ExactWideRound::Mini> ExactWideRound::minis_of(const Piece& piece) const {
  return std::span(minis_).subspan(piece.first / exact_mini,
                                   (piece.count + exact_mini - 1) / exact_mini);
}

std::size_t ExactWideRound::words_of(const Piece& piece) const {
  std::size_t words = 0;
  for (const Mini& mini : minis_of(piece)) words += mini.count * mini.shape.words(widths_);
  return words;
}

std::size_t ExactWideRound::encode(std::size_t, const Piece& piece, Payload out) {
  std::size_t words = 0;
  with_element_type(type_, [&]<class T>(T) {
    for (const Mini& mini : minis_of(piece)) {
      T elements[exact_mini];
      if (call_.added == nullptr)
        memory_.to_host(elements, call_.input_at(mini.first), mini.count * sizeof(T));
      const OwnValues<T> values(call_, mini.first, elements);
      for (std::size_t i = 0; i < mini.count; ++i) {
        mini.shape.encode(widths_, values(i, mini.shape.low), out.data() + words);
        words += mini.shape.words(widths_);
      }
    }
  });
  return words;
}

void ExactWideRound::decode(const Piece& piece, ConstPayload sum, std::size_t contributions) {
  expect_words(sum.size(), words_of(piece));
  const std::uint64_t divisor = vectors_.divisor();
  std::size_t words = 0;
  with_element_type(type_, [&]<class T>(T) {
    for (const Mini& mini : minis_of(piece)) {
      T elements[exact_mini];
      for (std::size_t i = 0; i < mini.count; ++i) {
        elements[i] = mini.shape.decode<T>(widths_, sum.data() + words, contributions, divisor);
        words += mini.shape.words(widths_);
      }
      memory_.from_host(call_.output_at(mini.first), elements, mini.count * sizeof(T));
    }
  });
}

void ExactWideRound::copy_others(const Piece& piece, const std::byte* elements) {
  const std::size_t size = size_of(type_);
  std::size_t done = 0;
  const auto copy_to = [&](std::size_t end) {
    if (end > done)
      memory_.copy(call_.output_at(piece.first + done), elements + done * size,
                   (end - done) * size);
  };
  for_each_wide(piece, [&](std::size_t index, const ExactWideShape&) {
    copy_to(index * exact_mini);
    done = (index + 1) * exact_mini;
  });
  copy_to(piece.count);
}

ExactShortPayload::ExactShortPayload(const CodecContext& context, const ExactDivisor& divisor,
                                     const CallBuffers& call)
    : Round({.name = "payload", .merge = {MergeKind::add}, .time = RoundTime::payload}),
      type_(context.type),
      memory_(context.memory),
      divisor_(divisor),
      widths_(widths_of(context)),
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
    const OwnValues<T> values(call_, piece.first, elements);
    for (std::size_t i = 0; i < piece.count; ++i)
      shape_.encode(widths_, values(i, 0), words + i * shape_.words(widths_));
  });
  if (divisor_.of_many()) words[piece.count * shape_.words(widths_)] = own_vectors(call_);
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
  const std::uint64_t divisor =
      divisor_.of_many() ? divisor_.of(words[piece.count * each]) : divisor_.of_ranks();
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
