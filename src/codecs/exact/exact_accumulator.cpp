#include "codecs/exact/exact_accumulator.hpp"

#include "kernels/core/body/element.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace cohom {
namespace {

using kernels::exact_group;
using kernels::exact_mini;
using kernels::body::ExactFormat;
using kernels::body::ExactHeader;
using kernels::body::ExactInteger;
using kernels::body::ExactParts;
using kernels::body::ExactValue;
using kernels::body::ExactWidths;
using kernels::body::load_raw;
using kernels::body::with_element_type;

/// Digits that a number lies in.
template <class T>
constexpr unsigned digits_of_number = (ExactFormat<T>::mantissa + 1 + 31 + 31) / 32;

/// Adds a number to its digits; bit 0 counts 2^shift of the first.
template <class T>
void add_number(const ExactParts<T>& number, unsigned shift, std::int64_t* digits) {
  constexpr std::uint64_t mask = 0xffff'ffff;
  constexpr bool in_three = digits_of_number<T> == 3;
  const std::uint64_t low = number.mantissa << shift;
  const std::int64_t sign = number.negative ? -1 : 1;
  digits[0] += sign * static_cast<std::int64_t>(low & mask);
  digits[1] += sign * static_cast<std::int64_t>(low >> 32);
  if constexpr (in_three)
    digits[2] += sign * static_cast<std::int64_t>(shift == 0 ? 0 : number.mantissa >> (64 - shift));
}

/// All bits that are set in the magnitudes of several sums.
class ExactBits {
 public:
  void take(const ExactDigits& digits) {
    if (!digits.are_few()) return take_many(digits);
    ExactInteger sum = digits.integer();
    if (sum.is_negative()) sum.negate();
    few_.low |= sum.low;
    few_.high |= sum.high;
    begin_ = digits.begin();
  }
  /// 1 + the position of the highest; 0: there is none.
  [[nodiscard]] int high() const {
    if (few_.is_zero()) return high_;
    const int top =
        few_.high != 0 ? 128 - std::countl_zero(few_.high) : 64 - std::countl_zero(few_.low);
    return std::max(high_, static_cast<int>(begin_) + top);
  }
  /// The position of the lowest.
  [[nodiscard]] int low() const {
    if (few_.is_zero()) return low_;
    const int bottom =
        few_.low != 0 ? std::countr_zero(few_.low) : 64 + std::countr_zero(few_.high);
    return std::min(low_, static_cast<int>(begin_) + bottom);
  }

 private:
  void take_many(const ExactDigits& digits) {
    ExactValue value = digits.value(0);
    if (value.limbs[ExactValue::max_limbs - 1] >> 63 != 0) value.negate();
    for (std::size_t i = 0; i < ExactValue::max_limbs; ++i) {
      if (value.limbs[i] == 0) continue;
      const int position = 64 * static_cast<int>(i);
      high_ = std::max(high_, position + 64 - std::countl_zero(value.limbs[i]));
      low_ = std::min(low_, position + std::countr_zero(value.limbs[i]));
    }
  }

  ExactInteger few_;  ///< from the bit at begin_ on
  unsigned begin_ = 0;
  int high_ = 0, low_ = std::numeric_limits<int>::max();  ///< of the others
};

/// A group as a source of numbers.
class GroupTotals {
 public:
  GroupTotals(const ExactAccumulator& sums, std::size_t first, std::size_t count)
      : sums_(sums), first_(first), count_(count) {}
  [[nodiscard]] kernels::ExactSpan span(std::size_t mini) const {
    return sums_.span(first_ / exact_mini + mini);
  }
  [[nodiscard]] ExactTotal operator()(std::size_t index) const {
    return index < count_ ? sums_.total(first_ + index) : ExactTotal({.other = true});
  }

 private:
  const ExactAccumulator& sums_;
  std::size_t first_, count_;
};

/// Calls visit(source, elements) for every group of a run.
template <class Visit>
void for_each_group(const ExactAccumulator& sums, std::size_t first, std::size_t count,
                    Visit visit) {
  for (std::size_t done = 0; done < count; done += exact_group) {
    const std::size_t elements = std::min(exact_group, count - done);
    visit(GroupTotals(sums, first + done, elements), elements);
  }
}

}  // namespace

ExactAccumulator::ExactAccumulator(std::size_t count, ElementType type, std::uint64_t waits)
    : count_(count), type_(type), minis_(kernels::exact_minis_of(count)), waits_(waits) {}

void ExactAccumulator::add(const void* vector) {
  const bool was_incomplete = incomplete_;
  incomplete_ = true;  // until all elements are added
  with_element_type(type_, [&]<class T>(T) {
    for (std::size_t m = 0; m < minis_.size(); ++m)
      minis_[m].template add<T>(vector, m * exact_mini,
                                std::min(exact_mini, count_ - m * exact_mini));
  });
  ++vectors_;
  if (++waiting_ >= waits_) {
    for (Mini& mini : minis_) mini.settle();
    waiting_ = 1;  // a digit is as large as that of one number
  }
  incomplete_ = was_incomplete;
}

void ExactAccumulator::reset() {
  for (Mini& mini : minis_) mini.clear();
  vectors_ = waiting_ = 0;
  incomplete_ = false;
}

void ExactAccumulator::measure(std::size_t first, std::size_t count, std::uint64_t* header) const {
  with_element_type(type_, [&]<class T>(T) {
    for_each_group(*this, first, count, [&](const GroupTotals& totals, std::size_t elements) {
      kernels::measure_exact_source<T>(totals, elements, header);
      header += ExactHeader<T>(header, elements).size();
    });
  });
}

void ExactAccumulator::encode(const kernels::ExactRoom& room, std::size_t first, std::size_t count,
                              const std::uint64_t* header, std::uint64_t* words) const {
  with_element_type(type_, [&]<class T>(T) {
    const ExactWidths widths(room, type_);
    for_each_group(*this, first, count, [&](const GroupTotals& totals, std::size_t elements) {
      words += kernels::encode_exact_source<T>(widths, header, totals, elements, words);
      header += ExactHeader<T>(header, elements).size();
    });
  });
}

kernels::ExactSpan ExactAccumulator::span(std::size_t index) const {
  const Mini& mini = minis_[index];
  const std::size_t elements = std::min(exact_mini, count_ - index * exact_mini);
  const unsigned present = (1u << elements) - 1;
  kernels::ExactSpan span{.finite = (mini.nan | mini.infinite | mini.minus_infinite) == 0,
                          .minus_zero = (~unsigned{mini.other} & present) != 0};
  ExactBits bits;
  for (std::size_t i = 0; i < elements; ++i) bits.take(mini.digits_of(i));
  span.high = bits.high();
  span.low = bits.low();
  const int positions =
      with_element_type(type_, []<class T>(T) { return kernels::body::exact_positions<T>; });
  span.finite &= span.high <= positions;
  return span;
}

ExactTotal ExactAccumulator::Mini::total(std::size_t element) const {
  const auto is = [&](std::uint16_t mask) { return (mask >> element & 1) != 0; };
  return ExactTotal({.nan = is(nan),
                     .infinite = is(infinite),
                     .minus_infinite = is(minus_infinite),
                     .other = is(other)},
                    digits_of(element));
}

void ExactAccumulator::Mini::cover(unsigned from, unsigned end) {
  if (count != 0) {
    from = std::min<unsigned>(from, first);
    end = std::max<unsigned>(end, first + count);
  }
  const unsigned wanted = end - from;
  if (wanted == count) return;
  auto wider = std::make_unique<std::int64_t[]>(exact_mini * wanted);
  for (std::size_t i = 0; count != 0 && i < exact_mini; ++i)
    std::copy_n(of(i), count, wider.get() + i * wanted + (first - from));
  digits = std::move(wider);
  first = static_cast<std::uint16_t>(from);
  count = static_cast<std::uint16_t>(wanted);
}

template <class T>
void ExactAccumulator::Mini::add(const void* vector, std::size_t begin, std::size_t elements) {
  int lowest = kernels::body::exact_positions<T>, highest = -1;
  for (std::size_t i = 0; i < elements; ++i) {
    const ExactParts<T> number(load_raw<T>(vector, begin + i));
    const auto mark = [&](std::uint16_t& mask, bool is) {
      mask = static_cast<std::uint16_t>(mask | (is ? 1u << i : 0u));
    };
    mark(nan, number.nan);
    mark(infinite, !number.finite && !number.nan && !number.negative);
    mark(minus_infinite, !number.finite && !number.nan && number.negative);
    mark(other, !number.minus_zero());
    if (number.mantissa == 0 || !number.finite) continue;
    lowest = std::min(lowest, number.position);
    highest = std::max(highest, number.position);
  }
  if (highest < 0) return;
  cover(static_cast<unsigned>(lowest) / 32,
        static_cast<unsigned>(highest) / 32 + digits_of_number<T>);
  for (std::size_t i = 0; i < elements; ++i) {
    const ExactParts<T> number(load_raw<T>(vector, begin + i));
    if (number.mantissa == 0 || !number.finite) continue;
    const auto position = static_cast<unsigned>(number.position);
    add_number(number, position % 32, of(i) + (position / 32 - first));
  }
}

void ExactAccumulator::Mini::settle() {
  if (count == 0) return;
  // The highest digit keeps its sign, and what is carried to it. A number has less than 2^23 in it,
  // so that it stays below 2^56, however many vectors there are.
  constexpr std::int64_t limit = std::int64_t{1} << 32;
  for (std::size_t i = 0; i < exact_mini; ++i)
    for (std::size_t d = 0; d + 1 < count; ++d) {
      const std::int64_t carry = of(i)[d] >> 32;
      of(i)[d] -= carry * limit;
      of(i)[d + 1] += carry;
    }
}

void ExactAccumulator::Mini::clear() {
  std::fill_n(digits.get(), exact_mini * count, 0);
  nan = infinite = minus_infinite = other = 0;
}

}  // namespace cohom
