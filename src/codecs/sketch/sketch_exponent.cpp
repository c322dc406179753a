#include "codecs/sketch/sketch_exponent.hpp"

#include "kernels/core/body/element.hpp"
#include "kernels/core/body/fixed_point.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/sketch/body/sketch_blocks.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace cohom {

using namespace kernels::body;
using kernels::sketch_block;

namespace {

/// Blocks that are measured at a time.
constexpr std::size_t run_blocks = 64, run = run_blocks * sketch_block;

}  // namespace

void SketchExponent::reserve(std::size_t elements) {
  exponents_.resize(elements / sketch_block + 1);
}

void SketchExponent::measure(const std::byte* elements, std::size_t first, std::size_t count) {
  for (std::size_t done = 0; done < count; done += run) {
    const std::size_t now = std::min(run, count - done);
    std::array<SketchLargest::Found, run_blocks> largest;
    kernels_.blocks.of<SketchLargest>().measure({}, {type_, now}, elements + done * size_of(type_),
                                                largest.data());
    for (std::size_t b = 0; b * sketch_block < now; ++b) {
      const int exponent = largest[b] == 0 ? none : floor_log2<float>(largest[b]);
      exponents_[(first + done) / sketch_block + b] = exponent;
      largest_ = std::max(largest_, exponent);
    }
  }
}

bool SketchExponent::holds_all(const std::byte* elements, std::size_t count) const {
  const SketchHeld::Settings numbers(FixedPoint(largest_, ranks_));
  for (std::size_t done = 0; done < count; done += run) {
    const std::size_t now = std::min(run, count - done);
    std::array<SketchHeld::Found, run_blocks> held;
    held.fill(1);
    kernels_.blocks.of<SketchHeld>().measure(numbers, {type_, now},
                                             elements + done * size_of(type_), held.data());
    if (std::ranges::find(held, 0) != held.end()) return false;
  }
  return true;
}

/// Exponent of the least bit that is set in any number.
int SketchExponent::lowest_bit(const std::byte* elements, std::size_t count) const {
  using Format = FloatFormat<float>;
  int lowest = Format::bias;
  with_element_type(type_, [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(load_element<T>(elements, i));
      const std::uint32_t magnitude = magnitude_bits(value);
      if (magnitude == 0 || magnitude >= Format::infinity) continue;
      const std::uint32_t field = magnitude >> Format::mantissa_bits;
      const std::uint32_t fraction = magnitude & ((1u << Format::mantissa_bits) - 1);
      const std::uint32_t whole = field == 0 ? fraction : fraction | 1u << Format::mantissa_bits;
      const int unit = std::max(static_cast<int>(field), 1) - Format::bias - Format::mantissa_bits;
      lowest = std::min(lowest, unit + std::countr_zero(whole));
    }
  });
  return lowest;
}

int SketchExponent::best(const std::byte* elements, std::size_t count) const {
  if (largest_ == none || holds_all(elements, count)) return largest_;
  // A block is held by the exponents from its own to the one whose unit is its least bit.
  constexpr int least = -149, most = 128;
  const int bits = 62 - static_cast<int>(std::bit_width(ranks_ - 1));
  std::array<int, most - least + 2> changes{};
  for (std::size_t first = 0; first < count; first += sketch_block) {
    const int exponent = exponents_[first / sketch_block];
    if (exponent == none) continue;
    const int last = std::min(
        lowest_bit(elements + first * size_of(type_), std::min(sketch_block, count - first)) + bits,
        most - 1);
    if (last < exponent) continue;
    ++changes[std::size_t(exponent - least)];
    --changes[std::size_t(last + 1 - least)];
  }
  int held = 0, most_held = 0, found = largest_;
  for (int exponent = least; exponent <= largest_; ++exponent) {
    held += changes[std::size_t(exponent - least)];
    if (held <= most_held) continue;
    most_held = held;
    found = exponent;
  }
  return found;
}

}  // namespace cohom
