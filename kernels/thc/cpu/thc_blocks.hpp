#pragma once
// Calls of the thc kernels as one value each, and what of them is rare and goes to the reference,
// as runs of one block or of what is left: ragged blocks, blocks of fewer than a frame, norms near
// the ends of the exponent's range.

#include "kernels/core/body/lanes.hpp"
#include "kernels/thc/body/norm_code.hpp"
#include "kernels/thc/body/rotate.hpp"
#include "kernels/thc/cpu/thc_rows.hpp"
#include "kernels/thc/thc.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

inline const void* advanced(const void* array, std::size_t bytes) {
  return array == nullptr ? nullptr : static_cast<const char*>(array) + bytes;
}
inline void* advanced(void* array, std::size_t bytes) {
  return array == nullptr ? nullptr : static_cast<char*>(array) + bytes;
}

/// The run of `count` elements that starts `offset` elements into `run`.
inline ThcRun part_of(const ThcRun& run, std::size_t offset, std::size_t count) {
  return {run.type, run.first + offset, count};
}

/// Whether one factor carries a block's whole scale (the other is 1).
template <class Real>
bool has_one_factor(body::Norm<Real> norm) {
  return norm.exponent >= -body::one_factor_exponent<Real> &&
         norm.exponent <= body::one_factor_exponent<Real>;
}

/// The arguments of ThcKernels::encode.
struct EncodeCall {
  const ThcFormat& format;
  const ThcDraws& draws;
  const ThcRun& run;
  const void* input;
  void* feedback;
  const std::uint32_t* codes;
  Form form;
  std::uint64_t* words;

  [[nodiscard]] unsigned width() const {
    return form == Form::narrow ? format.narrow_width : format.wide_width;
  }
  /// Where the words of the block go that starts at element `offset`.
  [[nodiscard]] std::uint64_t* words_at(std::size_t offset) const {
    return words + offset / format.rotation * body::words_per_block(format.rotation, width());
  }
  [[nodiscard]] void* feedback_at(std::size_t offset) const {
    return advanced(feedback, offset * (run.type == ElementType::f64 ? 8 : 4));
  }
  /// The number of the frame that starts at element `offset`.
  [[nodiscard]] std::uint64_t frame_at(std::size_t offset) const {
    return (run.first + offset) / 256;
  }
  void by_reference(std::size_t offset, std::size_t count) const {
    scalar_thc().encode(format, draws, part_of(run, offset, count),
                        advanced(input, offset * size_of(run.type)), feedback_at(offset),
                        codes + offset / format.rotation, form, words_at(offset));
  }
};

/// The arguments of ThcKernels::decode.
struct DecodeCall {
  const ThcFormat& format;
  const ThcDraws& draws;
  const ThcRun& run;
  const std::uint64_t* sum;
  std::size_t contributions;
  const std::uint32_t* codes;
  std::uint64_t divisor;
  void* output;

  [[nodiscard]] std::uint64_t bias() const { return contributions * format.intervals; }
  [[nodiscard]] const std::uint64_t* words_at(std::size_t offset) const {
    return sum +
           offset / format.rotation * body::words_per_block(format.rotation, format.wide_width);
  }
  [[nodiscard]] void* output_at(std::size_t offset) const {
    return advanced(output, offset * size_of(run.type));
  }
  [[nodiscard]] std::uint64_t frame_at(std::size_t offset) const {
    return (run.first + offset) / 256;
  }
  void by_reference(std::size_t offset, std::size_t count) const {
    scalar_thc().decode(format, draws, part_of(run, offset, count), words_at(offset), contributions,
                        codes + offset / format.rotation, divisor, output_at(offset));
  }
};

}  // namespace cohom::kernels
