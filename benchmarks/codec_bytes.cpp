#include "codec_bytes.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <string_view>

namespace cohom::bench {
namespace {

/// The value of `name` in a spec "codec:name=value,...", or nothing.
std::optional<std::string> parameter(const std::string& spec, std::string_view name) {
  for (std::size_t begin = spec.find(':'); begin != std::string::npos;) {
    const std::size_t end = spec.find(',', begin + 1);
    const std::string_view item = std::string_view(spec).substr(begin + 1, end - begin - 1);
    if (item.starts_with(name) && item.substr(name.size()).starts_with('='))
      return std::string(item.substr(name.size() + 1));
    begin = end;
  }
  return std::nullopt;
}

/// "0.1" or "1/10".
double fraction(const std::string& text) {
  const std::size_t slash = text.find('/');
  const double over = slash == std::string::npos ? 1 : std::stod(text.substr(slash + 1));
  return std::stod(text) / over;
}

std::uint64_t number(const std::string& spec, std::string_view name, std::uint64_t otherwise) {
  const auto text = parameter(spec, name);
  std::uint64_t value = otherwise;
  if (text && *text != "auto") std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

unsigned first_width_that_holds(std::uint64_t value, std::initializer_list<unsigned> widths) {
  for (const unsigned width : widths)
    if (value <= std::numeric_limits<std::uint64_t>::max() >> (64 - width)) return width;
  return 64;
}

/// Lanes of `width` bits, floor(64/width) a word, whole words a block; the ragged last block is
/// padded to a power of two of at least 16.
RunBytes lanes(std::size_t block, unsigned width) {
  return [=](std::size_t elements) {
    const std::size_t lanes_a_word = 64 / width;
    const auto words = [&](std::size_t values) {
      return (values + lanes_a_word - 1) / lanes_a_word;
    };
    const std::size_t ragged = elements % block;
    const std::size_t padded = ragged == 0 ? 0 : std::max<std::size_t>(16, std::bit_ceil(ragged));
    return 8 * (elements / block * words(block) + words(std::min(padded, block)));
  };
}

CodecBytes raw_bytes(ElementType type) {
  const RunBytes bytes = [type](std::size_t elements) {
    return (elements * size_of(type) + 7) / 8 * 8;
  };
  return {.block = 256, .contribution = bytes, .sum = bytes};
}

/// Empty where the lanes that the spec asks for hold no sum of so many ranks.
std::optional<CodecBytes> thc_bytes(const std::string& spec, std::size_t elements,
                                    std::uint64_t ranks) {
  const std::size_t block = number(spec, "rotation", 256);
  unsigned contribution_width, sum_width;
  if (parameter(spec, "levels") == "full") {
    sum_width = static_cast<unsigned>(number(spec, "lane", 8));
    const std::uint64_t levels = (std::uint64_t{1} << sum_width) - 1;
    if (levels < ranks) return std::nullopt;
    contribution_width = first_width_that_holds(std::min<std::uint64_t>(levels / ranks, 65535),
                                                {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16});
  } else {
    contribution_width = static_cast<unsigned>(number(spec, "bits", 4));
    const std::uint64_t table = (std::uint64_t{1} << contribution_width) - 1;
    const auto granularity = number(spec, "granularity", contribution_width == 1 ? 1 : 2 * table);
    sum_width = static_cast<unsigned>(
        number(spec, "lane", first_width_that_holds(ranks * granularity, {8, 12, 16, 21, 32})));
    if (ranks * granularity >> sum_width != 0) return std::nullopt;
  }
  const std::size_t blocks = (elements + block - 1) / block;
  // One code of 32 bits a block, two a word; scale=global agrees on one for the vector.
  const bool global = parameter(spec, "scale") == "global";
  return CodecBytes{.block = block,
                    .contribution = lanes(block, std::min(contribution_width, sum_width)),
                    .sum = lanes(block, sum_width),
                    .agreement = global ? 8 : (blocks + 1) / 2 * 8,
                    .narrow = contribution_width < sum_width};
}

/// What packed may send with a budget, for contributions and sums together, agreement included. How it
/// splits them depends on the vectors, so only `direct` has a formula.
std::optional<CodecBytes> packed_bytes(const std::string& spec, const std::string& algorithm) {
  const bool mean = parameter(spec, "budget").value_or("mean") == "mean";
  if (algorithm != "direct" || !mean || parameter(spec, "abs_error") ||
      parameter(spec, "rel_error"))
    return std::nullopt;
  const double bits = std::stod(parameter(spec, "bits").value_or("5"));
  const RunBytes bytes = [bits](std::size_t elements) {
    return static_cast<std::uint64_t>(bits / 8 * static_cast<double>(elements));
  };
  return CodecBytes{.block = 1024, .contribution = bytes, .sum = bytes};
}

/// What the union of a vector's values takes an element of the vector, as if it were spread evenly: what is
/// named, and how much counts as a value.
struct UnionBytes {
  double index = 0;   ///< bytes, that go the payload's way
  double values = 0;  ///< share of the elements
  std::uint64_t agreement = 0;
};

/// The filter has 1 / ln 2 bits a probe and value of each rank. Half of them are set where no two ranks have
/// a value in common, else fewer.
UnionBytes bloom_bytes(const std::string& spec, const UnionShape& shape) {
  const auto elements = static_cast<double>(shape.elements);
  const double wanted = fraction(parameter(spec, "false_positives").value_or("1/1024"));
  const double probes = std::ceil(-std::log2(wanted));
  const double bits = static_cast<double>(shape.contributed) * probes / std::numbers::ln2;
  const auto values = static_cast<double>(shape.values);
  if (bits >= elements) return {.index = 1.0 / 8, .values = values / elements};
  const double set = bits == 0 ? 0 : 1 - std::exp(-probes * values / bits);
  const double ghosts = std::pow(set, probes) * (elements - values);
  return {.index = bits / elements / 8, .values = (values + ghosts) / elements};
}

/// Of a two-level index the upper level, two bits a block of 512, is small and goes as agreement does.
UnionBytes union_bytes(const std::string& spec, const UnionShape& shape) {
  const std::string form = parameter(spec, "index").value_or("two-level");
  if (form == "bloom") return bloom_bytes(spec, shape);
  const auto elements = static_cast<double>(shape.elements);
  if (form == "flat")
    return {.index = 1.0 / 8, .values = static_cast<double>(shape.values) / elements};
  return {.index = static_cast<double>(shape.mixed) / elements / 8,
          .values = static_cast<double>(shape.values + shape.zeros_of_full) / elements,
          .agreement = ((shape.elements + 511) / 512 + 31) / 32 * 8};
}

/// So many bytes an element.
RunBytes evenly(double bytes) {
  return [bytes](std::size_t elements) {
    return static_cast<std::uint64_t>(std::llround(bytes * static_cast<double>(elements)));
  };
}

CodecBytes sparse_bytes(const std::string& spec, ElementType type, const UnionShape& shape) {
  const UnionBytes of = union_bytes(spec, shape);
  const RunBytes run = evenly(of.index + of.values * static_cast<double>(size_of(type)));
  return {.block = 256, .contribution = run, .sum = run, .agreement = of.agreement};
}

/// thc on the values of units of 16384 elements or a rotation.
std::optional<CodecBytes> sparse_thc_bytes(const std::string& spec, std::uint64_t ranks,
                                           const UnionShape& shape) {
  const UnionBytes of = union_bytes(spec, shape);
  const std::size_t unit = std::max<std::size_t>(16384, number(spec, "rotation", 256));
  const auto values = static_cast<std::size_t>(std::llround(of.values * static_cast<double>(unit)));
  const auto thc = thc_bytes(spec, values, ranks);
  if (!thc) return std::nullopt;
  const auto of_unit = [&](const RunBytes& bytes) {
    return evenly(of.index + static_cast<double>(bytes(values)) / static_cast<double>(unit));
  };
  const std::size_t units = (shape.elements + unit - 1) / unit;
  return CodecBytes{.block = unit,
                    .contribution = of_unit(thc->contribution),
                    .sum = of_unit(thc->sum),
                    .agreement = of.agreement + units * thc->agreement,
                    .narrow = thc->narrow};
}

/// The maximum of integer cells, and a bit for each block of 256, are agreed on as well.
CodecBytes sketch_bytes(const std::string& spec, ElementType type, const UnionShape& shape) {
  const bool wide = type == ElementType::f64;
  const bool integers = !wide && parameter(spec, "cells").value_or("i64") == "i64";
  const auto size = parameter(spec, "size");
  const UnionBytes of = union_bytes(spec, shape);
  const double cells =
      size ? fraction(*size) : fraction(parameter(spec, "gamma").value_or("1.3")) * of.values;
  const RunBytes run = evenly(of.index + cells * (integers || wide ? 8 : 4));
  return {.block = 256,
          .contribution = run,
          .sum = run,
          .agreement = of.agreement + (shape.elements / 256 + 63) / 64 * 8 + (integers ? 8 : 0)};
}

constexpr std::size_t sign_block = 1024;

CodecBytes signcount_bytes(const std::string& spec, std::size_t elements, std::uint64_t ranks) {
  const unsigned width =
      first_width_that_holds(ranks, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 21, 32});
  const std::size_t blocks = (elements + sign_block - 1) / sign_block;
  const auto scale = parameter(spec, "scale");
  CodecBytes bytes{.block = sign_block,
                   .contribution = lanes(sign_block, 1),
                   .sum = lanes(sign_block, width),
                   .agreement = (blocks + 31) / 32 * 8,
                   .narrow = width > 1};
  if (!scale || *scale == "l1")
    bytes.agreement = 2 * ((blocks + 1) / 2 * 8);
  else if (*scale == "global")
    bytes.agreement += 16;
  if (parameter(spec, "vote") == "majority" && ranks > 1) bytes.finished = lanes(sign_block, 1);
  return bytes;
}

/// Calls of full precision, every period-th, send the vector as it is.
CodecBytes marsit_bytes(const std::string& spec, std::size_t elements, ElementType type,
                        std::uint64_t ranks, std::uint64_t step) {
  if (parameter(spec, "period") != "none" && (step + 1) % number(spec, "period", 10) == 0) {
    CodecBytes exact = raw_bytes(type);
    exact.block = sign_block;
    exact.by_direct = true;
    return exact;
  }
  const std::size_t blocks = (elements + sign_block - 1) / sign_block;
  const bool l1 = parameter(spec, "scale").value_or("l1") == "l1";
  const RunBytes own = [=](std::size_t count) {
    const std::size_t ragged = count % sign_block;
    const std::size_t padded = ragged == 0 ? 0 : std::max<std::size_t>(16, std::bit_ceil(ragged));
    const std::size_t bits =
        count / sign_block * ((sign_block + ranks - 1) / ranks) + (padded + ranks - 1) / ranks;
    return (bits + 63) / 64 * 8;
  };
  return {.block = sign_block,
          .contribution = own,
          .sum = lanes(sign_block, 1),
          .agreement = (blocks + 31) / 32 * 8 + (l1 ? 16 : 0),
          .narrow = ranks > 1,
          .disjoint = ranks > 1};
}

}  // namespace

std::optional<CodecBytes> codec_bytes(const std::string& spec, const std::string& algorithm,
                                      std::size_t elements, ElementType type, int ranks,
                                      const std::optional<UnionShape>& shape, std::uint64_t step) {
  const auto n = static_cast<std::uint64_t>(ranks);
  const std::string name = spec.substr(0, spec.find(':'));
  if (name == "raw") return raw_bytes(type);
  if (name == "thc") return thc_bytes(spec, elements, n);
  if (name == "packed") return packed_bytes(spec, algorithm);
  if (name == "signcount") return signcount_bytes(spec, elements, n);
  if (name == "marsit") return marsit_bytes(spec, elements, type, n, step);
  if (!shape || elements == 0) return std::nullopt;
  if (name == "sparse") return sparse_bytes(spec, type, *shape);
  if (name == "sparse+thc") return sparse_thc_bytes(spec, n, *shape);
  if (name == "sketch") return sketch_bytes(spec, type, *shape);
  return std::nullopt;
}

}  // namespace cohom::bench
