#pragma once
// ExactAccumulator: the vectors that one rank contributes to one sum, added without any rounding.
//
// Of each element the sum is an integer of least denormals, in digits of 32 bits, each in 64 with a
// sign, so that carries wait. The digits of a mini-block are those that its numbers have had so
// far.

#include "codecs/exact/exact_total.hpp"
#include "kernels/exact/body/exact_source.hpp"
#include "kernels/exact/exact.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cohom {

class ExactAccumulator {
 public:
  /// Of all ranks together: so many fit the counters of fields, and the divisor of a mean.
  static constexpr std::uint64_t max_vectors = 0xffff'ffff;
  /// After so many vectors carries wait no longer.
  static constexpr std::uint64_t max_waiting = std::uint64_t{1} << 30;

  /// Of no vectors. `waits`: 1 to max_waiting; tests take fewer.
  ExactAccumulator(std::size_t count, ElementType type, std::uint64_t waits = max_waiting);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::uint64_t vectors() const { return vectors_; }

  /// Adds a vector of the host's memory, of which `vectors()` are fewer than max_vectors.
  /// @throws std::bad_alloc: some elements are added then, and it is incomplete() until reset()
  void add(const void* vector);
  /// Whether memory was missing for a vector.
  [[nodiscard]] bool incomplete() const { return incomplete_; }
  /// As at first, but memory stays.
  void reset();

  // For the codec's rounds, as of one contribution.

  /// Writes the header of a run of elements from `first` on, a multiple of a group.
  void measure(std::size_t first, std::size_t count, std::uint64_t* header) const;
  /// Writes the payload of the same. `header`: what was agreed on.
  void encode(const kernels::ExactRoom& room, std::size_t first, std::size_t count,
              const std::uint64_t* header, std::uint64_t* words) const;
  /// An element, counted from the bit at `low`: none is set below.
  [[nodiscard]] kernels::body::ExactValue value(std::size_t element, unsigned low) const {
    return total(element).value(low);
  }
  [[nodiscard]] ExactTotal total(std::size_t element) const {
    return minis_[element / kernels::exact_mini].total(element % kernels::exact_mini);
  }
  /// Of a mini-block.
  [[nodiscard]] kernels::ExactSpan span(std::size_t mini) const;

 private:
  /// 16 elements. Bit i of a mask is element i's.
  struct Mini {
    std::unique_ptr<std::int64_t[]> digits;  ///< element by element
    std::uint16_t first = 0, count = 0;      ///< digits that an element has
    std::uint16_t nan = 0, infinite = 0, minus_infinite = 0;
    std::uint16_t other = 0;  ///< than -0

    [[nodiscard]] std::int64_t* of(std::size_t element) const {
      return digits.get() + element * count;
    }
    [[nodiscard]] ExactDigits digits_of(std::size_t element) const {
      return {{of(element), count}, first};
    }
    [[nodiscard]] ExactTotal total(std::size_t element) const;
    /// Makes room for the digits from ... end - 1.
    void cover(unsigned from, unsigned end);
    template <class T>
    void add(const void* vector, std::size_t begin, std::size_t elements);
    void settle();
    void clear();
  };

  std::size_t count_;
  ElementType type_;
  std::vector<Mini> minis_;
  std::uint64_t vectors_ = 0;
  std::uint64_t waits_, waiting_ = 0;  ///< vectors whose carries may wait, and do
  bool incomplete_ = false;
};

}  // namespace cohom
