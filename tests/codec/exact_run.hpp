#pragma once
// One sum by the kernels of exact, in both forms, without a codec: buffers end where memory ends.

#include "exact_data.hpp"
#include "fenced_bytes.hpp"
#include "fenced_words.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/exact/body/exact_wide.hpp"
#include "kernels/exact/cpu/exact_rows.hpp"
#include "kernels/exact/exact.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace cohom::test {

using kernels::ExactKernels;
using kernels::ExactRoom;
using kernels::ExactRun;
using Words = std::vector<std::uint64_t>;

inline constexpr int all_ranks[] = {1, 2, 3, 5, 8, 17};

inline const ExactKernels& exact_reference() {
  static const ExactKernels kernels = kernels::scalar_exact();
  return kernels;
}

/// Merges headers as ranks do: the larger of each code.
inline void merge_header(ElementType type, std::span<const std::uint64_t> from, Words& into) {
  const unsigned bits = type == ElementType::f64 ? 16 : 8;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (std::size_t i = 0; i < into.size(); ++i)
    for (unsigned at = 0; at < 64; at += bits) {
      const std::uint64_t code = from[i] >> at & mask, other = into[i] >> at & mask;
      into[i] += (std::max(code, other) - other) << at;
    }
}

/// A problem, its vectors and what its ranks have agreed on. Where there are fewer vectors than
/// ranks, the first one is that of all others.
class ExactSums {
 public:
  ExactSums(const ExactKernels& kernels, const ExactProblem& problem, std::span<const Bytes> inputs)
      : kernels_(kernels), problem_(problem) {
    for (const Bytes& input : inputs) inputs_.emplace_back(std::span<const std::byte>(input));
    for (FencedBytes& input : inputs_) {
      FencedWords header(kernels::exact_header_words(problem.type, problem.count));
      kernels_.measure(run(), input.data(), header.data());
      headers_.emplace_back(header.words().begin(), header.words().end());
    }
    agreed_ = headers_[0];
    for (const Words& header : headers_) merge_header(problem.type, header, agreed_);
  }

  [[nodiscard]] ExactRun run() const { return {problem_.type, problem_.count}; }
  [[nodiscard]] ExactRoom narrow() const { return {std::size_t(problem_.ranks), 1}; }
  [[nodiscard]] ExactRoom wide() const {
    return {std::size_t(problem_.ranks), std::size_t(problem_.ranks)};
  }
  [[nodiscard]] std::span<const Words> headers() const { return headers_; }
  [[nodiscard]] const Words& agreed() const { return agreed_; }
  /// Another header than that of these vectors.
  void agree_on(const Words& header) { agreed_ = header; }

  /// A rank's words.
  Words encoded(std::size_t rank, const ExactRoom& room) {
    FencedWords words(kernels::exact_length(run(), room, agreed_.data()).words);
    kernels_.encode(run(), room, fenced_header().data(), inputs_[rank].data(), words.data());
    return {words.words().begin(), words.words().end()};
  }
  std::vector<Words> all_encoded(const ExactRoom& room) {
    std::vector<Words> all;
    for (std::size_t rank = 0; rank < inputs_.size(); ++rank) all.push_back(encoded(rank, room));
    return all;
  }
  /// The elements of words that were added.
  Bytes decoded(std::span<const std::uint64_t> sum) {
    const FencedWords words(sum);
    FencedBytes output(problem_.count * size_of(problem_.type));
    kernels_.decode(run(), wide(), fenced_header().data(), words.data(), problem_.divisor(),
                    output.data());
    return taken(output);
  }
  /// The elements of narrow contributions.
  Bytes summed(std::span<const Words> contributions) {
    std::vector<FencedWords> words;
    for (const Words& contribution : contributions)
      words.emplace_back(std::span<const std::uint64_t>(contribution));
    std::vector<const std::uint64_t*> sources;
    for (const FencedWords& source : words) sources.push_back(source.data());
    FencedBytes output(problem_.count * size_of(problem_.type));
    kernels_.sum(run(), narrow(), fenced_header().data(), sources.data(), sources.size(),
                 problem_.divisor(), output.data());
    return taken(output);
  }
  [[nodiscard]] Words added(std::span<const Words> contributions) const {
    Words sum(contributions[0].size());
    for (std::size_t rank = 0; rank < contributions.size(); ++rank)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += times(rank) * contributions[rank][i];
    return sum;
  }

  /// Writes the elements of wide mini-blocks into a result. Returns how many mini-blocks these are.
  std::size_t put_wide(Bytes& result);
  /// All elements, as vectors that agree on nothing have them.
  Bytes short_sums();

 private:
  [[nodiscard]] std::uint64_t times(std::size_t rank) const {
    return rank == 0 ? std::uint64_t(problem_.ranks) - (inputs_.size() - 1) : 1;
  }
  FencedWords fenced_header() const { return FencedWords(std::span<const std::uint64_t>(agreed_)); }
  static Bytes taken(const FencedBytes& output) {
    if (!output.fence_intact()) throw std::logic_error("written before the elements");
    return {output.bytes().begin(), output.bytes().end()};
  }
  /// Of one element: a rank's words, and the sum's.
  struct WideWords {
    FencedWords one, sum;
    explicit WideWords(std::size_t size) : one(size), sum(size) {}
  };
  template <class T>
  T wide_sum(const kernels::body::ExactWideShape& shape, std::size_t index, WideWords& words);

  const ExactKernels& kernels_;
  ExactProblem problem_;
  std::vector<FencedBytes> inputs_;
  std::vector<Words> headers_;
  Words agreed_;
};

template <class T>
T ExactSums::wide_sum(const kernels::body::ExactWideShape& shape, std::size_t index,
                      WideWords& words) {
  using kernels::body::ExactValue;
  const kernels::body::ExactWidths widths(wide(), problem_.type);
  const std::size_t size = shape.words(widths);
  std::uint64_t* const sum = words.sum.data();
  std::fill_n(sum, size, 0);
  for (std::size_t rank = 0; rank < inputs_.size(); ++rank) {
    const T element = kernels::body::load_raw<T>(inputs_[rank].data(), index);
    std::fill_n(words.one.data(), size, 0x5a5a5a5a5a5a5a5au);
    shape.encode(widths, ExactValue::of(element, shape.low), words.one.data());
    for (std::size_t i = 0; i < size; ++i) sum[i] += times(rank) * words.one.data()[i];
  }
  return shape.decode<T>(widths, sum, std::size_t(problem_.ranks), problem_.divisor());
}

inline std::size_t ExactSums::put_wide(Bytes& result) {
  using namespace kernels;
  const body::ExactWidths widths(wide(), problem_.type);
  std::size_t wide_minis = 0;
  body::with_element_type(problem_.type, [&]<class T>(T) {
    const std::uint64_t* header = agreed_.data();
    for (std::size_t first = 0; first < problem_.count; first += exact_group) {
      const std::size_t count = std::min(exact_group, problem_.count - first);
      const body::ExactHeader<T> group(header, count);
      for (std::size_t m = 0; m < group.minis; ++m) {
        const body::ExactMini mini = group.mini(m);
        if (!widths.is_wide(mini, group.counts_zeros(m))) continue;
        ++wide_minis;
        const auto shape = body::ExactWideShape::of<T>(mini, group.counts_zeros(m));
        WideWords words(shape.words(widths));
        for (std::size_t i = m * exact_mini; i < std::min(count, (m + 1) * exact_mini); ++i) {
          if (body::load_raw<std::uint8_t>(result.data(), (first + i) * sizeof(T)) != 0)
            throw std::logic_error("the payload's kernels wrote an element that is wide");
          body::store_raw<T>(result.data(), first + i, wide_sum<T>(shape, first + i, words));
        }
      }
      header += group.size();
    }
  });
  return wide_minis;
}

inline Bytes ExactSums::short_sums() {
  using kernels::body::ExactWideShape;
  Bytes result(problem_.count * size_of(problem_.type));
  kernels::body::with_element_type(problem_.type, [&]<class T>(T) {
    const auto shape = ExactWideShape::of_any<T>();
    WideWords words(shape.words({wide(), problem_.type}));
    for (std::size_t i = 0; i < problem_.count; ++i)
      kernels::body::store_raw<T>(result.data(), i, wide_sum<T>(shape, i, words));
  });
  return result;
}

}  // namespace cohom::test
