// Encoding runs: a group is quantised into the first cache, turned into planes there, and appended.

#if defined(COHOM_PACKED_ENCODE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_ENCODE_INL_H
#undef COHOM_PACKED_ENCODE_INL_H
#else
#define COHOM_PACKED_ENCODE_INL_H
#endif

#include "kernels/packed/cpu/packed_payload-inl.h"
#include "kernels/packed/cpu/packed_planes-inl.h"
#include "kernels/packed/cpu/packed_quantize-inl.h"
#include "kernels/packed/cpu/packed_rows.hpp"
#include "kernels/packed/cpu/packed_to_planes-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// predict=delta: every integer minus the one before it; returns the first, in whose place is a
/// zero.
HWY_INLINE std::int32_t take_differences(QuantizedGroup& group, std::size_t count) {
  if (group.outliers != 0) {  // a chain with a gap says nothing
    group.outliers = ~0u;
    group.largest = 0;
    std::fill_n(group.integers, packed_group, 0);
    return 0;
  }
  const hn::ScalableTag<std::int32_t> d;
  std::int32_t* const integers = group.integers;
  const std::int32_t base = integers[0];
  // From the end, so that what is read is still as it was; `rest` has what lies before a vector.
  for (std::size_t i = packed_group - lanes32; i > 0; i -= lanes32)
    hn::Store(hn::Sub(hn::Load(d, integers + i), hn::LoadU(d, integers + i - 1)), d, integers + i);
  for (std::size_t i = lanes32 - 1; i > 0; --i) integers[i] -= integers[i - 1];
  integers[0] = 0;
  if (count < packed_group) integers[count] = 0;  // the step down to the zeros behind a ragged end
  group.largest *= 2;
  return base;
}

/// feedback := v - decode(own), v where a mini-block is an outlier. The feedback has the
/// arithmetic's type of the elements, T; the quantiser's may be wider.
template <class T, class Real>
HWY_INLINE void leave_residual(const QuantizedGroup& group, Real step, void* feedback) {
  const RealLanes<Real> d;
  const hn::Rebind<T, RealLanes<Real>> dt;
  const IntegerLanes<Real> di;
  const auto steps = hn::Set(d, step);
  for (std::size_t m = 0; m < packed_minis; ++m) {
    if ((group.outliers >> m & 1) != 0) continue;
    for (std::size_t i = m * packed_mini; i < (m + 1) * packed_mini; i += hn::MaxLanes(d)) {
      const auto integers = hn::Load(di, group.integers + i);
      T* const at = element_at<T>(feedback, i);
      if constexpr (sizeof(Real) == 4) {
        const auto own = hn::Mul(hn::ConvertTo(d, integers), steps);
        hn::StoreU(hn::Sub(hn::LoadU(d, at), own), d, at);
      } else {
        const auto own = hn::Mul(hn::PromoteTo(d, integers), steps);
        const auto left = hn::Sub(load_as<T, Real>(feedback, i), own);
        if constexpr (sizeof(T) == 4)
          hn::StoreU(hn::DemoteTo(dt, left), dt, at);
        else
          hn::StoreU(left, d, at);
      }
    }
  }
}

/// Encodes a run's groups in order. A group's planes are written out after the next one's are made:
/// they are stored in parts of a vector and loaded whole, which a processor can only do once the
/// stores have reached the cache.
template <class T, class Real>
class GroupEncoder {
 public:
  GroupEncoder(const PackedQuantizer& quantizer, std::size_t groups, std::uint64_t* words)
      : quantizer_(quantizer),
        values_of_(quantizer),
        output_(words, groups, quantizer.differences) {}

  [[nodiscard]] bool usable() const { return values_of_.usable(); }

  /// Takes the next group, `count` elements of which are real; `values` has all 1024. They are the
  /// feedback, if there is `feedback`.
  HWY_INLINE void take(std::size_t first, const void* values, std::size_t count, void* feedback) {
    const std::size_t g = taken_++;
    QuantizedGroup& group = group_;
    const bool wide = feedback != nullptr || quantizer_.differences;
    values_of_.quantize(first, values, wide, group);
    if (wide) values_of_.clear_dropped(group);
    if constexpr (sizeof(T) >= 4)
      if (feedback != nullptr) leave_residual<T, Real>(group, values_of_.step(), feedback);
    if (quantizer_.differences)
      output_.parts.bases[g] = static_cast<std::uint32_t>(take_differences(group, count));
    Made& made = made_[g % 2];
    made.planes.count = group.planes();
    made.kept = group.kept & ~group.outliers;
    made.outliers = group.outliers;
    if (group.narrow)
      planes_of_integers(group.narrow_integers, made.planes);
    else
      planes_of_integers(group.integers, made.planes);
    if (g > 0) write(g - 1);
  }

  /// Writes the last group; returns where the planes end.
  HWY_INLINE std::uint32_t* finish() {
    if (taken_ > 0) write(taken_ - 1);
    return output_.parts.planes;
  }

 private:
  struct Made {
    Planes planes;
    std::uint32_t kept, outliers;
  };

  HWY_INLINE void write(std::size_t g) {
    const Made& made = made_[g % 2];
    write_group(made.planes, masks_of_planes(made.planes, made.kept), made.outliers, g,
                output_.parts, output_.end);
  }

  const PackedQuantizer& quantizer_;
  GroupQuantizer<T, Real> values_of_;
  PackedOutput output_;
  std::size_t taken_ = 0;
  QuantizedGroup group_;
  Made made_[2];
};

/// A run of elements T in arithmetic of Real; with `feedback` T is the feedback's type.
template <class T, class Real>
std::size_t encode_run(const PackedQuantizer& quantizer, const PackedRun& run, const void* input,
                       void* feedback, std::uint64_t* words) {
  const std::size_t groups = packed_groups(run.count);
  GroupEncoder<T, Real> encoder(quantizer, groups, words);
  if (!encoder.usable()) return scalar_packed().encode(quantizer, run, input, feedback, words);
  alignas(64) std::byte padded[packed_group * sizeof(T)];
  for (std::size_t first = 0; first < run.count; first += packed_group) {
    const std::size_t count = std::min(packed_group, run.count - first);
    void* state = feedback == nullptr ? nullptr : element_at<T>(feedback, first);
    const void* values = feedback == nullptr ? element_at<T>(input, first) : state;
    if (count < packed_group) {
      std::memset(padded, 0, sizeof padded);  // zeros give zeros
      std::memcpy(padded, values, count * sizeof(T));
      values = padded;
      if (feedback != nullptr) state = padded;
    }
    // One call, and one only: it is inlined, and compilers need half a minute for it.
    encoder.take(run.first + first, values, count, state);
    if (state == padded) std::memcpy(element_at<T>(feedback, first), padded, count * sizeof(T));
  }
  return body::close_packed(words, groups, quantizer.differences, encoder.finish());
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
