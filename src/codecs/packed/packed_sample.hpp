#pragma once
// What packed's budget cannot know from a histogram of contributions. How wide sums are depends on
// how alike the ranks' vectors are, and how their scales differ block by block; how wide
// mini-blocks are, on how many of their values are close to the largest. So a call looks at a few
// mini-blocks: the ranks add random projections of them, and compare them with what each knows of
// its own. Specified in docs/wire-format.md, "packed".

#include "codecs/common/codec.hpp"
#include "codecs/packed/packed_findings.hpp"
#include "codecs/packed/packed_mini_block.hpp"
#include "codecs/packed/packed_widths.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom {

/// Which mini-blocks a call looks at, and how.
class PackedSample {
 public:
  /// `ranks` vectors of `elements` elements; draws come from `key`.
  PackedSample(std::uint32_t ranks, std::size_t elements, std::uint64_t key);

  /// Words that a rank contributes, to be merged by `add`; 0 for vectors too short to sample.
  [[nodiscard]] std::size_t words() const {
    return samples_ == 0 ? 0 : fixed_words + (first_shape() + mixtures() + 1) / 2;
  }

  /// Adds the mini-blocks that take() reads.
  void list(std::vector<std::size_t>& minis) const;
  /// How many it adds.
  [[nodiscard]] std::size_t listed() const {
    return samples_ == 0 ? 0 : samples_ + mixtures() * mixed_minis();
  }

  /// A rank's words. `top_code`: of the octave that all ranks' largest magnitude lies in. `step`:
  /// the one that this rank alone would take. `nearest`: values are rounded without dither.
  void take(const PackedVector& vector, std::int32_t top_code, PackedStep step, bool nearest,
            Payload out) const;

  /// @throws Error(transport) when the words are no sum of what ranks can have sent.
  void check(ConstPayload sum) const;

  /// What the sum of all ranks' words (words() > 0, check()ed) tells, when owners round off
  /// `down_shift` bits.
  [[nodiscard]] PackedFindings findings(ConstPayload sum, std::int32_t top_code,
                                        unsigned down_shift) const;

 private:
  static constexpr std::size_t fixed_words = 6;

  [[nodiscard]] std::size_t mini_of(std::size_t sample, std::uint32_t frame) const;
  [[nodiscard]] std::uint32_t fixed_point(double projection) const;
  [[nodiscard]] std::int64_t fixed_point_sum(ConstPayload counters, std::size_t index) const;
  [[nodiscard]] PackedMini mix(const PackedVector& vector, std::size_t mini, int exponent,
                               std::uint32_t signs) const;
  [[nodiscard]] double crest_of_sums(ConstPayload sum) const;

  /// One in so many samples is mixed.
  [[nodiscard]] std::size_t mixed_stride() const;
  [[nodiscard]] std::uint32_t mixed_minis() const;
  [[nodiscard]] std::size_t mixtures() const {
    return (samples_ + mixed_stride() - 1) / mixed_stride();
  }
  /// Counter of the first mixed sample's shape.
  [[nodiscard]] std::size_t first_shape() const { return PackedFindings::octaves + samples_; }

  std::uint32_t ranks_;
  std::size_t elements_;
  std::uint64_t key_;
  std::size_t samples_;
  int precision_;  ///< projections of 1 are 2^precision
};

}  // namespace cohom
