#pragma once
// What the kernels of `exact` share: the layout of headers and payloads, and the row of functions.
// The bits are specified in docs/wire-format.md ("exact").

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

/// A group is 1024 elements in 64 mini-blocks of 16. Only the last group of a run may be ragged.
inline constexpr std::size_t exact_group = 1024;
inline constexpr std::size_t exact_mini = 16;
inline constexpr std::size_t exact_minis = exact_group / exact_mini;
/// Element i of a mini-block belongs to bit stream i mod 8.
inline constexpr std::size_t exact_streams = 8;
/// Fields of more bits travel in the round `wide`. Nearly all are far narrower; the payload's
/// memory is taken for the widest.
constexpr unsigned exact_max_field(ElementType type) {
  return type == ElementType::f64 ? 96 : type == ElementType::f32 ? 80 : 64;
}
/// So that a word has room for the counters and carries of all contributions.
inline constexpr std::size_t exact_max_contributions = std::size_t{1} << 16;

constexpr std::size_t exact_groups(std::size_t elements) {
  return elements / exact_group + (elements % exact_group != 0);
}
constexpr std::size_t exact_minis_of(std::size_t elements) {
  return elements / exact_mini + (elements % exact_mini != 0);
}

/// Bytes of a code: of f64 16 bits.
constexpr std::size_t exact_code_size(ElementType type) { return type == ElementType::f64 ? 2 : 1; }

/// Words of the codes of one kind of so many mini-blocks.
constexpr std::size_t exact_code_words(ElementType type, std::size_t minis) {
  return (minis * exact_code_size(type) + 7) / 8;
}
/// Words of the header of a run: of each group the codes of the highest bits, those of the lowest
/// bits, and one word of codes that say who lacks a -0.
constexpr std::size_t exact_header_words(ElementType type, std::size_t elements) {
  const std::size_t ragged = exact_minis_of(elements % exact_group);
  return elements / exact_group * (2 * exact_code_words(type, exact_minis) + 1) +
         (ragged == 0 ? 0 : 2 * exact_code_words(type, ragged) + 1);
}

/// A run of whole groups; only the last may be ragged.
struct ExactRun {
  ElementType type = ElementType::f32;
  std::size_t count = 0;  ///< elements
};

/// How many contributions a field and a word have room for: those of all ranks, or one.
struct ExactRoom {
  std::size_t ranks = 1;          ///< contributions to a sum, at most exact_max_contributions
  std::size_t contributions = 1;  ///< that these words have room for: `ranks` or 1
};

/// Most words of a payload of so many elements.
std::size_t exact_capacity(const ExactRoom& room, ElementType type, std::size_t elements);

/// What a payload of a header must hold.
struct ExactLength {
  std::size_t words = 0;
  std::size_t wide_minis = 0;  ///< that are not in the payload
  bool valid = true;           ///< false: no rank can have sent these codes
};

/// Of words with this room: what exact_capacity() bounds.
ExactLength exact_length(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header);

/// Pointers to elements point at the run's own first one, `header` at its header, agreed on by all
/// ranks except where measure() writes it.
struct ExactKernels {
  /// Writes the header of this rank's elements.
  void (*measure)(const ExactRun& run, const void* input, std::uint64_t* header) = nullptr;
  /// Writes the payload, of as many words as exact_length() says.
  void (*encode)(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
                 const void* input, std::uint64_t* words) = nullptr;
  /// output := the sum of `source_count` payloads, each one contribution with room for itself
  /// alone; the quotient of the exact sum and `divisor` is rounded once. Elements of wide
  /// mini-blocks become +0.
  void (*sum)(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
              const std::uint64_t* const* sources, std::size_t source_count, std::uint64_t divisor,
              void* output) = nullptr;
  /// output := the sum in `words`, which holds the contributions of all ranks, likewise.
  void (*decode)(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
                 const std::uint64_t* words, std::uint64_t divisor, void* output) = nullptr;
};

/// Whether a device has all that codecs call.
constexpr bool complete(const ExactKernels& row) {
  return row.measure != nullptr && row.encode != nullptr && row.sum != nullptr &&
         row.decode != nullptr;
}

}  // namespace cohom::kernels
