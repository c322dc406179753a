#pragma once
// PackedFindings: how wide contributions and sums will be, as a sample of all ranks' vectors shows
// (packed_sample.hpp).

#include "codecs/packed/packed_histogram.hpp"
#include "codecs/packed/packed_widths.hpp"

#include <cohom/element_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cohom {

/// What a sample tells of all ranks' vectors.
class PackedFindings {
 public:
  [[nodiscard]] bool known() const { return samples_ != 0; }

  /// Bits by which contributions are wider than expected of their maxima.
  [[nodiscard]] double deviation() const { return deviation_; }

  /// Mean width of a sum's mini-blocks, as owners send them, where `histogram` counts the maxima of
  /// all contributions. That of the sample, and by how much contributions are wider in all than in
  /// the sample.
  [[nodiscard]] double sum_width(ElementType type, const PackedHistogram& histogram,
                                 PackedStep step) const;

 private:
  friend class PackedSample;
  static constexpr std::size_t octaves = 32;
  using Counts = std::array<std::uint32_t, octaves>;

  std::size_t samples_ = 0;
  std::uint32_t ranks_ = 1;
  double deviation_ = 0;
  std::int32_t shift_code_ = 0;    ///< of the bits that owners round off
  std::int32_t maximum_code_ = 0;  ///< contributions' maxima begin at this octave
  std::int32_t sum_code_ = 0;      ///< so do the sums'
  Counts maxima_{};                ///< of all ranks' contributions together
  Counts sums_{};
};

}  // namespace cohom
