#include "codecs/topk/topk_selection.hpp"

#include "kernels/core/body/element.hpp"
#include "kernels/core/body/float_bits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

namespace cohom {
namespace {

namespace body = kernels::body;

constexpr int digit_bits = 16;
constexpr std::size_t block = 1024;  ///< elements whose magnitudes are read together

/// What a call selects from: the elements, or, with feedback, those and what was left out before.
template <class T>
struct Values {
  using Real = body::Arithmetic<T>;
  using Bits = typename body::FloatFormat<Real>::Bits;

  const void* input;
  const std::byte* sums;  ///< null: no feedback
  std::size_t count;

  [[nodiscard]] Real operator[](std::size_t i) const {
    return sums != nullptr ? body::load_raw<Real>(sums, i) : body::load_element<T>(input, i);
  }
  void read_magnitudes(std::size_t first, std::size_t n, Bits* to) const {
    if (sums != nullptr)
      for (std::size_t i = 0; i < n; ++i)
        to[i] = body::magnitude_bits(body::load_raw<Real>(sums, first + i));
    else
      for (std::size_t i = 0; i < n; ++i)
        to[i] = body::magnitude_bits(body::load_element<T>(input, first + i));
  }
};

/// Taken are larger magnitudes than `limit`, and the first `ties` that equal it.
template <class Bits>
struct Cut {
  Bits limit = 0;
  std::size_t ties = 0;
};

/// Calls visit(magnitudes) for blocks of them, in order: bits of Real, at most `block` at a time.
template <class T, class Visit>
void for_magnitudes(const Values<T>& values, Visit visit) {
  using Bits = typename Values<T>::Bits;
  std::array<Bits, block> magnitudes;
  for (std::size_t first = 0; first < values.count; first += block) {
    const std::size_t count = std::min(block, values.count - first);
    values.read_magnitudes(first, count, magnitudes.data());
    visit(std::span<const Bits>(magnitudes.data(), count));
  }
}

/// The k largest. 0 < k <= count.
template <class T>
auto exact_cut(const Values<T>& values, std::size_t k, std::vector<std::size_t>& histogram) {
  using Bits = typename Values<T>::Bits;
  int width = digit_bits, shift = 8 * int(sizeof(Bits)) - 1 - digit_bits;
  Bits prefix = 0;
  std::size_t left = k;
  while (true) {
    std::ranges::fill(histogram, 0);
    const Bits mask = (Bits{1} << width) - 1;
    for_magnitudes(values, [&](std::span<const Bits> magnitudes) {
      for (const Bits magnitude : magnitudes)
        if (magnitude >> (shift + width) == prefix) ++histogram[(magnitude >> shift) & mask];
    });
    Bits digit = mask;
    for (; histogram[digit] < left; --digit) left -= histogram[digit];
    prefix = prefix << width | digit;
    const bool all_of_digit = histogram[digit] == left && prefix != 0;
    if (all_of_digit) return Cut<Bits>{.limit = (prefix << shift) - 1};
    if (shift == 0) return Cut<Bits>{.limit = prefix, .ties = prefix == 0 ? 0 : left};
    width = std::min(digit_bits, shift);
    shift -= width;
  }
}

struct Beyond {
  std::size_t count = 0;
  double excess = 0;  ///< sum of what the magnitudes have beyond the limit
};

/// Of finite magnitudes. In lanes of Real, a block at a time, so that the sum has the same bits
/// however it is compiled.
template <class T>
Beyond beyond(const Values<T>& values, typename Values<T>::Real limit) {
  using Real = typename Values<T>::Real;
  using Bits = typename Values<T>::Bits;
  using Signed = std::make_signed_t<Bits>;  // magnitudes are below its largest number
  constexpr std::size_t lanes = 8;
  const auto least = static_cast<Signed>(body::bits_of(limit));
  constexpr auto infinity = static_cast<Signed>(body::FloatFormat<Real>::infinity);
  Beyond all;
  for_magnitudes(values, [&](std::span<const Bits> magnitudes) {
    std::array<Real, lanes> excess{};
    std::array<Bits, lanes> counts{};
    // Without branches, for vector instructions.
    const auto add = [&](std::size_t i, std::size_t lane) {
      const auto bits = static_cast<Signed>(magnitudes[i]);
      const Bits is = static_cast<Bits>(bits > least) & static_cast<Bits>(bits < infinity);
      const Real over = body::from_bits<Real>(magnitudes[i]) - limit;
      excess[lane] += body::from_bits<Real>(body::bits_of(over) & (Bits{0} - is));
      counts[lane] += is;
    };
    std::size_t i = 0;
    for (; i + lanes <= magnitudes.size(); i += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) add(i + lane, lane);
    for (; i < magnitudes.size(); ++i) add(i, i % lanes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      all.count += counts[lane];
      all.excess += double(excess[lane]);
    }
  });
  return all;
}

/// ln(x) for 1 <= x <= 4, to 1e-9: with additions, products and quotients alone, so that it has the
/// same bits on every machine.
double logarithm(double x) {
  const double t = (x - 1) / (x + 1), square = t * t;
  double sum = 0, power = t;
  for (int n = 1; n < 41; n += 2, power *= square) sum += power / n;
  return 2 * sum;
}

/// None: the estimate is off by more than a factor of 2. An exponential variable exceeds its mean
/// times ln(1/r) with probability r, and so does what it has beyond any limit.
template <class T>
auto estimated_cut(const Values<T>& values, std::size_t k) {
  using Real = typename Values<T>::Real;
  constexpr double least_ratio = 0.25;
  constexpr int most_stages = 40;
  using Bits = typename Values<T>::Bits;
  Real limit = 0;
  for (int stage = 0; stage < most_stages; ++stage) {
    const Beyond above = beyond(values, limit);
    const bool all_nonzero = above.count <= k && limit == 0;
    if (all_nonzero || above.count <= 2 * k)
      return all_nonzero || 2 * above.count >= k
                 ? std::optional(Cut<Bits>{.limit = body::bits_of(limit)})
                 : std::nullopt;
    const double count = static_cast<double>(above.count);
    const double ratio = std::max(static_cast<double>(k) / count, least_ratio);
    const double next = double(limit) + above.excess / count * logarithm(1 / ratio);
    const Real rounded = static_cast<Real>(next);
    if (!(rounded > limit)) break;
    limit = rounded;
  }
  return std::optional<Cut<Bits>>();
}

/// The largest finite number of a type.
template <class T>
constexpr body::Arithmetic<T> largest = std::numeric_limits<T>::max();
template <>
constexpr float largest<float16> = 65504;
template <>
constexpr float largest<bfloat16> = 0x1.fep127F;

/// Writes what is taken; what is not stays in the feedback.
template <class T>
void take(const Values<T>& values, Cut<typename Values<T>::Bits> cut, std::byte* feedback,
          void* selected) {
  using Real = typename Values<T>::Real;
  constexpr auto infinity = body::FloatFormat<Real>::infinity;
  for (std::size_t i = 0; i < values.count; ++i) {
    const Real value = values[i];
    const auto magnitude = body::magnitude_bits(value);
    bool is_taken = magnitude > cut.limit || magnitude >= infinity;
    if (magnitude == cut.limit && cut.ties != 0) {
      is_taken = true;
      --cut.ties;
    }
    body::store_element<T>(selected, i, is_taken ? value : Real{0});
    if (feedback == nullptr) continue;
    // What was left out for long may be beyond the type: then the rest goes on waiting.
    if (magnitude < infinity && !(std::abs(body::load_element<T>(selected, i)) <= largest<T>))
      body::store_element<T>(selected, i, value < 0 ? -largest<T> : largest<T>);
    const Real rest = value - body::load_element<T>(selected, i);
    // What is sent as infinity or NaN is not to come back.
    body::store_raw<Real>(feedback, i, body::magnitude_bits(rest) < infinity ? rest : Real{0});
  }
}

}  // namespace

TopkSelection::TopkSelection(const TopkOptions& options)
    : options_(options), histogram_(std::size_t{1} << digit_bits) {}

void TopkSelection::select(ElementType type, const void* input, std::size_t count,
                           std::span<std::byte> feedback, void* selected) {
  if (count == 0) return;
  body::with_element_type(type, [&]<class T>(T) {
    select_of<T>(input, count, feedback.empty() ? nullptr : feedback.data(), selected);
  });
}

template <class T>
void TopkSelection::select_of(const void* input, std::size_t count, std::byte* feedback,
                              void* selected) {
  using Real = body::Arithmetic<T>;
  if (feedback != nullptr)
    for (std::size_t i = 0; i < count; ++i)
      body::store_raw<Real>(feedback, i,
                            body::load_element<T>(input, i) + body::load_raw<Real>(feedback, i));
  const Values<T> values{input, feedback, count};
  const std::size_t k = options_.elements_of(count);
  std::optional<Cut<typename Values<T>::Bits>> cut;
  if (options_.select == TopkOptions::Select::threshold) cut = estimated_cut(values, k);
  take(values, cut ? *cut : exact_cut(values, k, histogram_), feedback, selected);
}

}  // namespace cohom
