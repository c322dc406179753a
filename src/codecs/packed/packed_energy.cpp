#include "codecs/packed/packed_energy.hpp"

#include "codecs/common/agreed_value.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/packed/packed.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

namespace cohom {
namespace {

using kernels::packed_mini;

/// 1024 buckets find the energy within 4.4% (one standard deviation), 64 within 18%: the margin
/// takes 0.09 and 0.35 bits. Words of short vectors would take more than they save.
constexpr std::size_t min_buckets = 64, max_buckets = kernels::packed_group;
constexpr std::size_t elements_a_bucket = 1024;

/// Digits of values in a bucket; f32 has no more.
constexpr int max_precision = 24;

using Signs = std::array<double, 8>;

/// +1 and -1 by the bits of a byte.
const std::array<Signs, 256>& sign_table() {
  static const auto table = [] {
    std::array<Signs, 256> signs;
    for (std::size_t byte = 0; byte < signs.size(); ++byte)
      for (std::size_t bit = 0; bit < 8; ++bit)
        signs[byte][bit] = (byte >> bit & 1) != 0 ? -1.0 : 1.0;
    return signs;
  }();
  return table;
}

using Values = std::array<double, packed_mini>;

template <class T>
const std::byte* elements_at(const std::byte* elements, std::size_t index) {
  return elements + index * sizeof(T);
}

/// The next up to 32 values as integers, 2^end being 2^precision. Beside a value that is no number
/// there may be larger ones; both are 0.
template <class T>
Values whole_values(const std::byte* elements, std::size_t count, int precision, int end) {
  using namespace kernels::body;
  constexpr double to_whole = 0x1.8p52;  // what it is added to becomes a whole number, nearest even
  const int exponent = precision - end;
  const double low = power_of_two<double>(exponent / 2);
  const double high = power_of_two<double>(exponent - exponent / 2);
  Values values{};
  if (count == packed_mini)  // known to the compiler
    for (std::size_t i = 0; i < packed_mini; ++i) values[i] = load_element<T>(elements, i);
  else
    for (std::size_t i = 0; i < count; ++i) values[i] = load_element<T>(elements, i);
  std::uint64_t not_finite = 0;
  for (double& value : values) {
    value = value * low * high;
    not_finite |= bits_of(value - value);
  }
  if (not_finite != 0)
    for (double& value : values)
      if (!(std::abs(value) <= power_of_two<double>(precision))) value = 0;
  for (double& value : values) value = (value + to_whole) - to_whole;
  return values;
}

/// Adds the values to as many sums, negated where `draws` has a bit.
void add_signed(const Values& values, std::uint32_t draws, double* sums) {
  Values with_sign;
  const auto& signs = sign_table();
  for (std::size_t byte = 0; byte < 4; ++byte) {
    const Signs& sign = signs[draws >> (8 * byte) & 0xff];
    for (std::size_t i = 0; i < 8; ++i) with_sign[8 * byte + i] = sign[i] * values[8 * byte + i];
  }
  for (std::size_t i = 0; i < packed_mini; ++i) sums[i] += with_sign[i];
}

double signed_number(std::uint64_t word) {
  return static_cast<double>(static_cast<std::int64_t>(word));
}

}  // namespace

PackedEnergy::PackedEnergy(std::uint32_t ranks, std::size_t elements, std::uint64_t key)
    : ranks_(ranks), elements_(elements), key_(key) {
  // A rank's sums are exact in f64, and those of all ranks in 64 bits.
  const auto depth_bits = static_cast<int>(std::bit_width(depth()));
  const auto rank_bits = static_cast<int>(std::bit_width(ranks));
  precision_ = std::min({max_precision, 52 - depth_bits, 62 - depth_bits - rank_bits});
}

std::size_t PackedEnergy::buckets(std::size_t elements) {
  return std::clamp(std::bit_floor(elements / elements_a_bucket), min_buckets, max_buckets);
}

/// Of a chi-square variable with so many degrees of freedom, whose cube root is nearly normal
/// (Wilson and Hilferty, 1931).
double PackedEnergy::margin(std::size_t elements) {
  const double variance = 2 / (9 * static_cast<double>(buckets(elements)));
  const double root = 1 - variance + 3 * std::sqrt(variance);
  return root * root * root - 1;
}

std::size_t PackedEnergy::depth() const {
  const std::size_t width = buckets(elements_);
  return elements_ / width + (elements_ % width != 0 ? 1 : 0);
}

/// A mini-block that begins in the last bucket ends behind it.
PackedEnergy::Sums PackedEnergy::empty() const {
  return Sums(buckets(elements_) + packed_mini, 0.0);
}

/// Elements in a row are in buckets in a row, from one that is drawn anew for every run as long as
/// there are buckets: so the columns of a matrix are spread, too.
template <class T>
void PackedEnergy::add_elements(const std::byte* elements, std::size_t first, std::size_t count,
                                int end, Sums& sums) const {
  using namespace kernels::body;
  const std::size_t width = buckets(elements_), mask = width - 1;
  std::uint32_t frame = 0;
  std::size_t begin = 0;
  for (std::size_t done = 0; done < count; done += packed_mini) {
    const std::size_t within = (first + done) & mask;
    if (within == 0) {
      frame = kernels::body::frame(key_, (first + done) / width);
      begin = static_cast<std::size_t>(std::uint64_t{draw(frame, 0)} * width >> 32);
    }
    const std::size_t here = std::min(packed_mini, count - done);
    const Values values = whole_values<T>(elements_at<T>(elements, done), here, precision_, end);
    const std::uint32_t draws = draw(frame, static_cast<std::uint32_t>(1 + within / packed_mini));
    add_signed(values, draws, sums.data() + ((begin + within) & mask));
  }
}

void PackedEnergy::add(ElementType type, const std::byte* elements, std::size_t first,
                       std::size_t count, int end, Sums& sums) const {
  kernels::body::with_element_type(
      type, [&]<class T>(T) { add_elements<T>(elements, first, count, end, sums); });
}

void PackedEnergy::write(const Sums& sums, Payload out) const {
  const std::size_t width = buckets(elements_);
  for (std::size_t bucket = 0; bucket < width; ++bucket) {
    const double behind = bucket < packed_mini ? sums[width + bucket] : 0;
    out[bucket] = static_cast<std::uint64_t>(static_cast<std::int64_t>(sums[bucket] + behind));
  }
}

void PackedEnergy::check(ConstPayload sum) const {
  const double most = std::ldexp(static_cast<double>(depth()) * ranks_, precision_);
  for (const std::uint64_t word : sum)
    if (std::abs(signed_number(word)) > most)
      refuse_agreed("packed", "energy", word,
                    "magnitudes up to " + std::to_string(static_cast<std::uint64_t>(most)));
}

double PackedEnergy::at_least(ConstPayload sum) const {
  double squares = 0;
  for (const std::uint64_t word : sum) squares += signed_number(word) * signed_number(word);
  // What is added to a bucket is a whole number, and 1/12 is the variance of that rounding.
  const double rounding = static_cast<double>(elements_) * ranks_ / 12;
  const double more = margin(elements_);
  const double energy = (squares - (1 + more) * rounding) / (1 + more);
  return std::ldexp(std::max(energy, 0.0), -2 * precision_);
}

}  // namespace cohom
