#include "kernels/thc/cpu/thc_rows.hpp"

#include "kernels/core/body/element.hpp"
#include "kernels/core/body/lanes.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/thc/body/norm_code.hpp"
#include "kernels/thc/body/quantize.hpp"
#include "kernels/thc/body/rotate.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace cohom::kernels {
namespace {

using namespace body;

/// A block of a run: where it starts in the vector, its real elements, its size on the wire.
struct Block {
  std::size_t offset;  ///< in the run
  std::size_t first;   ///< in the vector
  std::size_t count;   ///< real elements
  std::size_t padded;
};

/// Room for one block, kept by the thread so that no call allocates.
template <class Real>
struct Scratch {
  std::vector<Real> values;
  std::vector<Real> coefficients;
  std::vector<std::uint32_t> lanes;
  std::vector<std::uint32_t> sums;

  static Scratch& of(const ThcFormat& format) {
    thread_local Scratch scratch;
    if (scratch.sums.size() < format.rotation) {
      scratch.values.resize(format.rotation);
      scratch.coefficients.resize(format.rotation);
      scratch.lanes.resize(format.rotation);
      scratch.sums.resize(format.rotation);  // last: its size says that all have room
    }
    return scratch;
  }
};

std::size_t padded_count(std::size_t count) {
  std::size_t size = 16;
  while (size < count) size *= 2;
  return size;
}

/// Calls visit(block number, block) for every block of the run.
template <class Visit>
void for_each_block(const ThcFormat& format, const ThcRun& run, Visit&& visit) {
  std::size_t number = 0;
  for (std::size_t offset = 0; offset < run.count; offset += format.rotation, ++number) {
    const std::size_t count = std::min<std::size_t>(format.rotation, run.count - offset);
    const std::size_t padded = count == format.rotation ? count : padded_count(count);
    visit(number, Block{offset, run.first + offset, count, padded});
  }
}

template <class T>
void load_block(const void* array, const Block& block, Arithmetic<T>* values) {
  for (std::size_t i = 0; i < block.count; ++i)
    values[i] = load_element<T>(array, block.offset + i);
  std::fill(values + block.count, values + block.padded, Arithmetic<T>{0});
}

template <class T>
void measure(const ThcFormat& format, const ThcRun& run, const void* input, void* feedback,
             std::uint32_t* codes) {
  using Real = Arithmetic<T>;
  auto& scratch = Scratch<Real>::of(format);
  Real* values = scratch.values.data();
  for_each_block(format, run, [&](std::size_t number, const Block& block) {
    load_block<T>(input, block, values);
    if (feedback != nullptr)
      for (std::size_t i = 0; i < block.count; ++i) {
        values[i] += load_element<Real>(feedback, block.offset + i);
        store_element<Real>(feedback, block.offset + i, values[i]);
      }
    codes[number] = norm_code(values, block.padded);
  });
}

template <class Real>
void apply_signs(std::uint64_t sign_key, const Block& block, Real* values) {
  for (std::size_t i = 0; i < block.padded; ++i) {
    const std::size_t element = block.first + i;
    values[i] = flip_sign(values[i], negated(frame(sign_key, element / 256), element % 256));
  }
}

/// The dither of one position. For nearest it only decides ties; else it is shifted by this rank's
/// offset.
std::uint32_t dither_at(const ThcFormat& format, const ThcDraws& draws, std::size_t position) {
  const std::size_t q = position / 256;
  const std::uint32_t drawn = dither(frame(draws.dither_key, q), position % 256);
  if (format.dither == Dither::nearest) return 127 + drawn % 2;
  if (format.dither == Dither::independent) return drawn;
  const auto units = static_cast<std::uint32_t>(format.dither_offsets.size());
  const std::uint32_t unit = permutation_number(frame(draws.permutation_key, q), units);
  return (drawn + format.dither_offsets[unit]) % 256;
}

/// lanes[p] := index (table form) or level of the coefficient at position p.
template <class Real>
void quantize_block(const ThcFormat& format, const ThcDraws& draws, const Block& block,
                    const Real* coefficients, std::uint32_t* lanes) {
  for (std::size_t p = 0; p < block.padded; ++p) {
    const Real coefficient = coefficients[position_of(p, block.padded)];
    const std::uint32_t x = grid_position(coefficient, format.intervals);
    const std::uint32_t d = dither_at(format, draws, block.first + p);
    lanes[p] = format.table ? index_of(format.cells[x / 256], x, d) : level_of(x, d);
  }
}

/// values := what a sum (one value a position) of `contributions` stands for, before any division.
template <class Real>
void restore_block(const ThcFormat& format, const ThcDraws& draws, const Block& block,
                   const std::uint32_t* sums, std::size_t contributions, Norm<Real> norm,
                   Real* values) {
  const auto bias = static_cast<std::int64_t>(contributions) * format.intervals;
  for (std::size_t p = 0; p < block.padded; ++p)
    values[position_of(p, block.padded)] =
        static_cast<Real>(2 * static_cast<std::int64_t>(sums[p]) - bias);
  rotate_back(values, block.padded);
  apply_signs(draws.sign_key, block, values);
  const auto scale = decode_scale_of(format.decode_scale, block.padded, norm);
  for (std::size_t i = 0; i < block.padded; ++i)
    values[i] = (values[i] * scale.factor) * scale.power;
}

template <class T>
void encode(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run, const void* input,
            void* feedback, const std::uint32_t* codes, Form form, std::uint64_t* words) {
  using Real = Arithmetic<T>;
  auto& scratch = Scratch<Real>::of(format);
  Real* values = scratch.values.data();
  std::uint32_t* lanes = scratch.lanes.data();
  const unsigned width = form == Form::narrow ? format.narrow_width : format.wide_width;
  for_each_block(format, run, [&](std::size_t number, const Block& block) {
    const std::size_t block_words = words_per_block(block.padded, width);
    std::uint64_t* out = words;
    words += block_words;
    if (codes[number] == 0 || codes[number] == outlier_code) {
      std::fill(out, out + block_words, 0);
      return;
    }
    if (feedback != nullptr)
      load_block<Real>(feedback, block, values);
    else
      load_block<T>(input, block, values);
    const auto norm = norm_of_code<Real>(codes[number]);
    const auto scale = encode_scale_of(format.encode_scale, norm);
    for (std::size_t i = 0; i < block.padded; ++i)
      values[i] = (values[i] * scale.power) * scale.factor;
    apply_signs(draws.sign_key, block, values);
    rotate_forward(values, block.padded);
    quantize_block(format, draws, block, values, lanes);
    if (form == Form::narrow) pack_lanes(lanes, block.padded, width, out);
    if (format.table)
      for (std::size_t p = 0; p < block.padded; ++p) lanes[p] = format.levels[lanes[p]];
    if (form == Form::wide) pack_lanes(lanes, block.padded, width, out);
    if (feedback == nullptr) return;
    Real* own = scratch.coefficients.data();
    restore_block(format, draws, block, lanes, 1, norm, own);
    for (std::size_t i = 0; i < block.count; ++i) {
      const Real v = load_element<Real>(feedback, block.offset + i);
      store_element<Real>(feedback, block.offset + i, v - own[i]);
    }
  });
}

void promote(const ThcFormat& format, const ThcRun& run, const std::uint64_t* const* contributions,
             std::size_t contribution_count, std::uint64_t* sum) {
  auto& scratch = Scratch<float>::of(format);
  std::uint32_t* lanes = scratch.lanes.data();
  std::uint32_t* sums = scratch.sums.data();
  std::size_t narrow_offset = 0;
  for_each_block(format, run, [&](std::size_t, const Block& block) {
    std::fill(sums, sums + block.padded, 0);
    for (std::size_t c = 0; c < contribution_count; ++c) {
      unpack_lanes(contributions[c] + narrow_offset, block.padded, format.narrow_width, lanes);
      for (std::size_t p = 0; p < block.padded; ++p)
        sums[p] += format.table ? format.levels[lanes[p]] : lanes[p];
    }
    pack_lanes(sums, block.padded, format.wide_width, sum);
    narrow_offset += words_per_block(block.padded, format.narrow_width);
    sum += words_per_block(block.padded, format.wide_width);
  });
}

template <class T>
void decode(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
            const std::uint64_t* sum, std::size_t contributions, const std::uint32_t* codes,
            std::uint64_t divisor, void* output) {
  using Real = Arithmetic<T>;
  auto& scratch = Scratch<Real>::of(format);
  Real* values = scratch.values.data();
  for_each_block(format, run, [&](std::size_t number, const Block& block) {
    const std::uint64_t* words = sum;
    sum += words_per_block(block.padded, format.wide_width);
    if (codes[number] == outlier_code) return;
    if (codes[number] == 0) {
      std::fill(values, values + block.count, Real{0});
    } else {
      unpack_lanes(words, block.padded, format.wide_width, scratch.lanes.data());
      restore_block(format, draws, block, scratch.lanes.data(), contributions,
                    norm_of_code<Real>(codes[number]), values);
      if (divisor > 1)
        for (std::size_t i = 0; i < block.count; ++i) values[i] /= static_cast<Real>(divisor);
    }
    for (std::size_t i = 0; i < block.count; ++i)
      store_element<T>(output, block.offset + i, values[i]);
  });
}

// The rows of ThcKernels: one switch on the element type a call.

void measure_any(const ThcFormat& format, const ThcRun& run, const void* input, void* feedback,
                 std::uint32_t* codes) {
  with_element_type(run.type, [&]<class T>(T) { measure<T>(format, run, input, feedback, codes); });
}

void encode_any(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
                const void* input, void* feedback, const std::uint32_t* codes, Form form,
                std::uint64_t* words) {
  with_element_type(run.type, [&]<class T>(T) {
    encode<T>(format, draws, run, input, feedback, codes, form, words);
  });
}

void decode_any(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
                const std::uint64_t* sum, std::size_t contributions, const std::uint32_t* codes,
                std::uint64_t divisor, void* output) {
  with_element_type(run.type, [&]<class T>(T) {
    decode<T>(format, draws, run, sum, contributions, codes, divisor, output);
  });
}

}  // namespace

const ThcKernels& scalar_thc() {
  static constexpr ThcKernels kernels{measure_any, encode_any, promote, decode_any};
  return kernels;
}

}  // namespace cohom::kernels
