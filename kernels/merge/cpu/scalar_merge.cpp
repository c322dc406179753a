#include "kernels/merge/cpu/merge_rows.hpp"

#include "kernels/core/body/element.hpp"
#include "kernels/core/body/float_bits.hpp"

#include <algorithm>
#include <cstring>

namespace cohom::kernels {
namespace {

using namespace body;

std::uint64_t word_at(const void* words, std::size_t index) {
  std::uint64_t word;
  std::memcpy(&word, static_cast<const char*>(words) + 8 * index, 8);
  return word;
}

template <class Part>
std::uint64_t max_of_parts(std::uint64_t a, std::uint64_t b) {
  std::uint64_t word = 0;
  for (std::size_t bit = 0; bit < 64; bit += 8 * sizeof(Part))
    word |= std::uint64_t{std::max(static_cast<Part>(a >> bit), static_cast<Part>(b >> bit))}
            << bit;
  return word;
}

/// Every word is read from all sources before it is written, so any source may be the destination.
template <class Operation>
void merge_words(const void* const* sources, std::size_t source_count, std::size_t bytes,
                 void* destination, Operation operation) {
  for (std::size_t i = 0; i < bytes / 8; ++i) {
    std::uint64_t word = word_at(sources[0], i);
    for (std::size_t s = 1; s < source_count; ++s) word = operation(word, word_at(sources[s], i));
    std::memcpy(static_cast<char*>(destination) + 8 * i, &word, 8);
  }
}

/// One rounding a merge: the running sum is kept as an element, not in wider arithmetic, so that
/// merging pairwise along a ring gives the same bits as merging all at once.
template <class T>
void add_elements(const void* const* sources, std::size_t source_count, std::size_t bytes,
                  void* destination) {
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
    auto sum = load_element<T>(sources[0], i);
    for (std::size_t s = 1; s < source_count; ++s)
      sum = to_arithmetic(from_arithmetic<T>(sum + load_element<T>(sources[s], i)));
    store_element<T>(destination, i, canonical(sum));
  }
}

}  // namespace

void scalar_merge(Merge merge, const void* const* sources, std::size_t source_count,
                  std::size_t bytes, void* destination) {
  using Word = std::uint64_t;
  switch (merge.kind) {
    case MergeKind::add:
      return merge_words(sources, source_count, bytes, destination,
                         [](Word a, Word b) { return a + b; });
    case MergeKind::bit_or:
      return merge_words(sources, source_count, bytes, destination,
                         [](Word a, Word b) { return a | b; });
    case MergeKind::max:
      return merge_words(sources, source_count, bytes, destination, max_of_parts<std::uint32_t>);
    case MergeKind::max8:
      return merge_words(sources, source_count, bytes, destination, max_of_parts<std::uint8_t>);
    case MergeKind::max16:
      return merge_words(sources, source_count, bytes, destination, max_of_parts<std::uint16_t>);
    case MergeKind::add_float:
      return with_element_type(merge.type, [&]<class T>(T) {
        add_elements<T>(sources, source_count, bytes, destination);
      });
    case MergeKind::add_packed: break;  // its own kernel: the length varies
  }
}

void scalar_finish_elements(ElementType type, const void* source, std::size_t elements,
                            std::uint64_t divisor, void* destination) {
  with_element_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < elements; ++i) {
      auto value = load_element<T>(source, i);
      if (divisor > 1) value /= static_cast<Arithmetic<T>>(divisor);
      store_element<T>(destination, i, canonical(value));
    }
  });
}

}  // namespace cohom::kernels
