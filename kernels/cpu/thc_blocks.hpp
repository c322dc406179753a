#pragma once
// Whole blocks of a run, for the vector kernels. What is rare goes to the reference, as runs of one
// block or of what is left: ragged blocks, blocks of fewer than a frame, norms near the ends of the
// exponent's range.

#include "kernels/body/lanes.hpp"
#include "kernels/body/norm_code.hpp"
#include "kernels/body/rotate.hpp"
#include "kernels/cpu/scalar_thc.hpp"
#include "kernels/thc.hpp"

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

/// The run of `count` elements that starts `offset` elements into `run`.
inline ThcRun part_of(const ThcRun& run, std::size_t offset, std::size_t count) {
  return {run.type, run.first + offset, count};
}

inline const void* advanced(const void* array, std::size_t bytes) {
  return array == nullptr ? nullptr : static_cast<const char*>(array) + bytes;
}
inline void* advanced(void* array, std::size_t bytes) {
  return array == nullptr ? nullptr : static_cast<char*>(array) + bytes;
}

/// Bytes of a feedback value.
inline std::size_t feedback_size(ElementType type) { return type == ElementType::f64 ? 8 : 4; }

/// Whether one factor carries a block's whole scale (the other is 1).
template <class Real>
bool has_one_factor(body::Norm<Real> norm) {
  return norm.exponent >= -body::one_factor_exponent<Real> &&
         norm.exponent <= body::one_factor_exponent<Real>;
}

/// The reference's encoding of part of a run whose blocks take `block_words` words.
inline void encode_part(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
                        std::size_t offset, std::size_t count, const void* input, void* feedback,
                        const std::uint32_t* codes, Form form, std::size_t block_words,
                        std::uint64_t* words) {
  const std::size_t block = offset / format.rotation;
  scalar_thc().encode(format, draws, part_of(run, offset, count),
                      advanced(input, offset * size_of(run.type)),
                      advanced(feedback, offset * feedback_size(run.type)), codes + block, form,
                      words + block * block_words);
}

inline void decode_part(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
                        std::size_t offset, std::size_t count, const std::uint64_t* sum,
                        std::size_t contributions, const std::uint32_t* codes,
                        std::uint64_t divisor, std::size_t block_words, void* output) {
  const std::size_t block = offset / format.rotation;
  scalar_thc().decode(format, draws, part_of(run, offset, count), sum + block * block_words,
                      contributions, codes + block, divisor,
                      advanced(output, offset * size_of(run.type)));
}

/// Aligned room of a thread, kept between calls so that none allocates.
template <class T>
class ScratchArray {
 public:
  /// At least `size` elements; when new they are zero.
  T* of(std::size_t size) {
    if (size > size_) {
      data_ = hwy::AllocateAligned<T>(size);
      for (std::size_t i = 0; i < size; ++i) data_[i] = T{0};
      size_ = size;
    }
    return data_.get();
  }

 private:
  hwy::AlignedFreeUniquePtr<T[]> data_;
  std::size_t size_ = 0;
};

template <class Real>
struct ThcScratch {
  ScratchArray<Real> rotated;          ///< a block between its passes
  ScratchArray<Real> own;              ///< what this rank's contribution decodes to
  ScratchArray<std::uint16_t> values;  ///< indices or levels, then zeros; or lanes of a sum
  ScratchArray<std::uint16_t> levels;
  ScratchArray<std::int32_t> grid;

  static ThcScratch& of_thread() {
    thread_local ThcScratch scratch;
    return scratch;
  }
};

}  // namespace cohom::kernels
