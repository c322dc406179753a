#include "kernels/packed/cpu/packed_rows.hpp"

#include "kernels/core/body/element.hpp"
#include "kernels/packed/body/packed_payload.hpp"
#include "kernels/packed/body/packed_quantize.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace cohom::kernels {
namespace {

using namespace body;

/// The integers of one group, and what its header says of them.
struct Group {
  std::array<std::int32_t, packed_group> values{};
  std::array<std::uint32_t, packed_minis> widths{};
  std::int32_t base = 0;
  std::uint32_t outliers = 0;  ///< bit m: mini-block m
};

/// Real elements of group g of a run.
std::size_t group_count(const PackedRun& run, std::size_t g) {
  return std::min(packed_group, run.count - g * packed_group);
}

template <class Real>
Real largest_magnitude(const Real* values, std::size_t count) {
  typename FloatFormat<Real>::Bits largest = 0;  // as integers, so that NaN is the largest
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, magnitude_bits(values[i]));
  return from_bits<Real>(largest);
}

template <class T>
void measure(const PackedRun& run, const void* input, void* feedback, std::uint32_t* bins) {
  using Real = Arithmetic<T>;
  for (std::size_t first = 0; first < run.count; first += packed_mini) {
    const std::size_t count = std::min(packed_mini, run.count - first);
    std::array<Real, packed_mini> values;
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = load_element<T>(input, first + i);
      if (feedback == nullptr) continue;
      values[i] += load_element<Real>(feedback, first + i);
      store_element<Real>(feedback, first + i, values[i]);
    }
    const Real largest = largest_magnitude(values.data(), count);
    if (magnitude_bits(largest) < FloatFormat<Real>::infinity) ++bins[packed_bin(largest)];
  }
}

/// Quantises the mini-block of `count` values that starts at element `first` of the vector. False
/// when one is out of range, or no number.
template <class Real>
bool quantize_mini(const PackedQuantizer& quantizer, const PackedScale<Real>& scale,
                   std::size_t first, const Real* values, std::size_t count, std::int32_t* out) {
  std::array<Real, packed_mini> scaled;
  for (std::size_t i = 0; i < count; ++i) scaled[i] = values[i] * scale.inverse;
  const Real largest = largest_magnitude(scaled.data(), count);
  if (!(largest <= scale.limit)) return false;
  if (quantizer.drops_small && largest < Real(0.7)) return true;
  const PackedDitherFrame frame(quantizer, first / 256);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = quantizer.dither == Dither::nearest
                 ? nearest_integer(scaled[i])
                 : dithered_integer(scaled[i], frame.of((first + i) % 256));
  return true;
}

/// predict=delta: every integer minus the one before it, the first one apart.
void take_differences(Group& group, std::size_t count) {
  if (group.outliers != 0) {  // a chain with a gap says nothing
    group.outliers = ~std::uint32_t{0};
    group.values.fill(0);
    return;
  }
  group.base = group.values[0];
  for (std::size_t i = count; i-- > 1;) group.values[i] -= group.values[i - 1];
  group.values[0] = 0;
}

void find_widths(Group& group) {
  for (std::size_t m = 0; m < packed_minis; ++m)
    group.widths[m] = (group.outliers >> m & 1) != 0
                          ? packed_outlier
                          : width_of_mini(group.values.data() + m * packed_mini);
}

/// Appends group g to a payload under construction.
void write_group(const Group& group, std::size_t g, PackedParts<std::uint32_t>& parts) {
  write_header(group.widths.data(), parts.headers + g * packed_header);
  if (parts.based) parts.bases[g] = static_cast<std::uint32_t>(group.base);
  parts.planes += write_planes(group.values.data(), group.widths.data(), parts.planes);
}

/// Reads the next group of an open payload.
void read_group(PackedParts<const std::uint32_t>& parts, std::size_t g, Group& group) {
  const std::uint32_t* const header = parts.headers + g * packed_header;
  read_header(header, group.widths.data());
  read_planes(parts.planes, group.widths.data(), group.values.data());
  parts.planes += plane_words(header);
  group.outliers = outlier_minis(header);
  group.base = parts.based ? static_cast<std::int32_t>(parts.bases[g]) : 0;
}

PackedParts<std::uint32_t> new_parts(std::uint64_t* words, std::size_t groups, bool based) {
  return {reinterpret_cast<std::uint32_t*>(words + 1), groups, based};
}

template <class T, class Real>
std::size_t encode(const PackedQuantizer& quantizer, const PackedRun& run, const void* input,
                   void* feedback, std::uint64_t* words) {
  const PackedScale<Real> scale(quantizer);
  const std::size_t groups = packed_groups(run.count);
  auto parts = new_parts(words, groups, quantizer.differences);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t count = group_count(run, g);
    Group group;
    for (std::size_t m = 0; m * packed_mini < count; ++m) {
      const std::size_t first = g * packed_group + m * packed_mini;  // in the run
      const std::size_t minis = std::min(packed_mini, count - m * packed_mini);
      std::int32_t* const integers = group.values.data() + m * packed_mini;
      std::array<Real, packed_mini> values;
      for (std::size_t i = 0; i < minis; ++i)
        values[i] = feedback != nullptr ? load_element<Arithmetic<T>>(feedback, first + i)
                                        : load_element<T>(input, first + i);
      if (!quantize_mini(quantizer, scale, run.first + first, values.data(), minis, integers)) {
        group.outliers |= std::uint32_t{1} << m;
        continue;
      }
      if (feedback == nullptr) continue;
      for (std::size_t i = 0; i < minis; ++i)
        store_element<Arithmetic<T>>(
            feedback, first + i,
            static_cast<Arithmetic<T>>(values[i] - static_cast<Real>(integers[i]) * scale.step));
    }
    if (quantizer.differences) take_differences(group, count);
    find_widths(group);
    write_group(group, g, parts);
  }
  return close_packed(words, groups, quantizer.differences, parts.planes);
}

/// Adds one payload's group to the sum. Outlier mini-blocks absorb what is added to them.
void add_group(const Group& one, Group& sum) {
  for (std::size_t i = 0; i < packed_group; ++i)
    sum.values[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.values[i]) +
                                              static_cast<std::uint32_t>(one.values[i]));
  sum.base = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.base) +
                                       static_cast<std::uint32_t>(one.base));
  sum.outliers |= one.outliers;
}

void clear_outliers(Group& group) {
  for (std::size_t m = 0; m < packed_minis; ++m)
    if ((group.outliers >> m & 1) != 0)
      std::fill_n(group.values.begin() + std::ptrdiff_t(m * packed_mini), packed_mini, 0);
  if (group.outliers != 0) group.base = 0;
}

/// Whether all widths that are no outliers fit the header.
bool widths_fit(const Group& group) {
  for (std::size_t m = 0; m < packed_minis; ++m)
    if ((group.outliers >> m & 1) == 0 && group.widths[m] > packed_max_width) return false;
  return true;
}

std::size_t merge(std::size_t groups, const ConstPackedPayload* payloads, std::size_t count,
                  std::uint64_t* sum) {
  thread_local std::vector<PackedParts<const std::uint32_t>> sources;  // no call allocates
  sources.resize(count);
  for (std::size_t s = 0; s < count; ++s)
    if (!parse_packed(payloads[s], groups, sources[s]) || sources[s].based != sources[0].based)
      return 0;
  auto parts = new_parts(sum, groups, sources[0].based);
  for (std::size_t g = 0; g < groups; ++g) {
    Group total, one;
    for (std::size_t s = 0; s < count; ++s) {
      read_group(sources[s], g, one);
      add_group(one, total);
    }
    clear_outliers(total);
    find_widths(total);
    if (!widths_fit(total)) return 0;
    write_group(total, g, parts);
  }
  return close_packed(sum, groups, sources[0].based, parts.planes);
}

std::int32_t shifted(std::int32_t value, unsigned shift) {
  const std::int32_t below = (std::int32_t{1} << (shift - 1)) - 1;
  return (value + below + (value >> shift & 1)) >> shift;
}

std::size_t shift(std::size_t groups, ConstPackedPayload payload, unsigned by,
                  std::uint64_t* words) {
  PackedParts<const std::uint32_t> source;
  if (!parse_packed(payload, groups, source) || source.based) return 0;
  auto parts = new_parts(words, groups, source.based);
  for (std::size_t g = 0; g < groups; ++g) {
    Group group;
    read_group(source, g, group);
    for (std::int32_t& value : group.values) value = shifted(value, by);
    find_widths(group);
    write_group(group, g, parts);
  }
  return close_packed(words, groups, source.based, parts.planes);
}

void sum_differences(Group& group) {
  std::uint32_t running = static_cast<std::uint32_t>(group.base);
  for (std::int32_t& value : group.values) {
    running += static_cast<std::uint32_t>(value);
    value = static_cast<std::int32_t>(running);
  }
}

template <class T, class Real>
bool decode(const PackedRun& run, ConstPackedPayload payload, double step, std::uint64_t divisor,
            std::uint32_t* outliers, void* output) {
  PackedParts<const std::uint32_t> parts;
  if (!parse_packed(payload, packed_groups(run.count), parts)) return false;
  for (std::size_t g = 0; g < parts.groups; ++g) {
    Group group;
    read_group(parts, g, group);
    if (parts.based) sum_differences(group);
    outliers[g] = group.outliers;
    const std::size_t count = group_count(run, g);
    for (std::size_t i = 0; i < count; ++i) {
      if ((group.outliers >> (i / packed_mini) & 1) != 0) continue;
      const Real sum = static_cast<Real>(group.values[i]) * static_cast<Real>(step);
      auto value = static_cast<Arithmetic<T>>(sum);
      if (divisor > 1) value /= static_cast<Arithmetic<T>>(divisor);
      store_element<T>(output, g * packed_group + i, value);
    }
  }
  return true;
}

void measure_any(const PackedRun& run, const void* input, void* feedback, std::uint32_t* bins) {
  with_element_type(run.type, [&]<class T>(T) { measure<T>(run, input, feedback, bins); });
}

/// Calls visitor(T{}, Real{}) with the element type and the arithmetic.
template <class Visitor>
decltype(auto) with_types(ElementType type, bool in_f64, Visitor&& visitor) {
  return with_element_type(type, [&]<class T>(T element) {
    return in_f64 ? visitor(element, double{}) : visitor(element, Arithmetic<T>{});
  });
}

std::size_t encode_any(const PackedQuantizer& quantizer, const PackedRun& run, const void* input,
                       void* feedback, std::uint64_t* words) {
  return with_types(run.type, quantizer.in_f64, [&]<class T, class Real>(T, Real) {
    return encode<T, Real>(quantizer, run, input, feedback, words);
  });
}

bool decode_any(const PackedRun& run, ConstPackedPayload payload, double step, bool in_f64,
                std::uint64_t divisor, std::uint32_t* outliers, void* output) {
  return with_types(run.type, in_f64, [&]<class T, class Real>(T, Real) {
    return decode<T, Real>(run, payload, step, divisor, outliers, output);
  });
}

}  // namespace

PackedKernels scalar_packed() { return {measure_any, encode_any, merge, shift, decode_any}; }

}  // namespace cohom::kernels
