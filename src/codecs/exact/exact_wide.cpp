#include "codecs/exact/exact_wide.hpp"

#include "codecs/exact/exact_own_values.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>

namespace cohom {
namespace {

using kernels::exact_mini;
using kernels::body::ExactHeader;
using kernels::body::ExactMini;
using kernels::body::ExactWideShape;
using kernels::body::with_element_type;

void expect_words(std::size_t words, std::size_t right) {
  if (words != right)
    throw Error(ErrorKind::transport, "exact: a payload of " + std::to_string(words) +
                                          " words came where " + std::to_string(right) +
                                          " were agreed on");
}

}  // namespace

ExactWideRound::ExactWideRound(const CodecContext& context, const ExactDivisor& divisor,
                               ExactHeaderRound& header, const CallBuffers& call)
    : Round({.name = "wide",
             .merge = {MergeKind::add},
             .time = RoundTime::behind_payload,
             .scope = RoundScope::fallback,
             .length = PayloadLength::varying,
             .algorithm = RoundAlgorithm::by_size}),
      type_(context.type),
      memory_(context.memory),
      widths_(exact_widths_of(context)),
      divisor_(divisor),
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

template <class Visit>
void ExactWideRound::for_each_run(std::span<const Mini> minis, Visit visit) {
  for (std::size_t begin = 0, end = 0; begin < minis.size(); begin = end) {
    ++end;
    while (end < minis.size() && end - begin < kernels::exact_minis &&
           minis[end].first == minis[end - 1].first + minis[end - 1].count)
      ++end;
    visit(minis.subspan(begin, end - begin));
  }
}

std::size_t ExactWideRound::encode(std::size_t, const Piece& piece, Payload out) {
  std::size_t words = 0;
  with_element_type(type_, [&]<class T>(T) {
    for_each_run(minis_of(piece), [&](std::span<const Mini> run) {
      const std::size_t first = run.front().first;
      T elements[kernels::exact_group];
      if (call_.added == nullptr)
        memory_.to_host(elements, call_.input_at(first),
                        (run.back().first + run.back().count - first) * sizeof(T));
      const ExactOwnValues<T> values(call_, first, elements);
      for (const Mini& mini : run) {
        for (std::size_t i = mini.first - first; i < mini.first - first + mini.count; ++i) {
          mini.shape.encode(widths_, values(i, mini.shape.low), out.data() + words);
          words += mini.shape.words(widths_);
        }
      }
    });
  });
  return words;
}

void ExactWideRound::decode(const Piece& piece, ConstPayload sum, std::size_t contributions) {
  expect_words(sum.size(), words_of(piece));
  const std::uint64_t divisor = divisor_.of_call();
  std::size_t words = 0;
  with_element_type(type_, [&]<class T>(T) {
    for_each_run(minis_of(piece), [&](std::span<const Mini> run) {
      T elements[kernels::exact_group];
      std::size_t count = 0;
      for (const Mini& mini : run) {
        for (std::size_t i = 0; i < mini.count; ++i) {
          elements[count++] =
              mini.shape.decode<T>(widths_, sum.data() + words, contributions, divisor);
          words += mini.shape.words(widths_);
        }
      }
      const std::size_t first = run.front().first;
      const auto wanted = call_.wanted_of(first, count);
      if (wanted.count != 0)
        memory_.from_host(call_.output_at(wanted.first), elements + (wanted.first - first),
                          wanted.count * sizeof(T));
    });
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

}  // namespace cohom
