// Norm codes of blocks. The order of additions is that of body::norm_code: 16 running sums down the
// columns of a frame, folded; then frame after frame.

#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/frame.hpp"
#include "kernels/device_runtime/intrinsics.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/thc/device/thc_rows.hpp"

#include <algorithm>
#include <cmath>

namespace cohom::kernels::device {
namespace {

/// Element i of a run; with feedback, which keeps it, the sum of both.
template <class T>
COHOM_HD inline Arithmetic<T> measured(const T* input, Arithmetic<T>* feedback, std::size_t i) {
  const Arithmetic<T> value = load_element<T>(input, i);
  if (feedback == nullptr) return value;
  return feedback[i] = host_sum(value, feedback[i]);
}

/// The exact scale that brings a magnitude into [1, 2), as two factors; one power may be out of
/// range.
template <class Real>
struct UnitScaling {
  int exponent;
  Real a, b;

  COHOM_HD explicit UnitScaling(typename body::FloatFormat<Real>::Bits largest)
      : exponent(body::floor_log2<Real>(largest)) {
    constexpr int limit = body::FloatFormat<Real>::bias - 1;
    const int first = exponent > limit ? -limit : -exponent > limit ? limit : -exponent;
    a = body::power_of_two<Real>(first);
    b = body::power_of_two<Real>(-exponent - first);
  }
};

/// As body::folded; steps are constants, so that the array is registers.
template <unsigned half = frame_side / 2, class Real>
COHOM_HD inline Real fold(Real (&sums)[frame_side]) {
  COHOM_UNROLL
  for (unsigned l = 0; l < half; ++l) sums[l] += sums[l + half];
  if constexpr (half > 1)
    return fold<half / 2>(sums);
  else
    return sums[0];
}

template <class Real>
COHOM_HD inline Real folded(const Real* sums) {
  Real own[frame_side];
  COHOM_UNROLL
  for (unsigned i = 0; i < frame_side; ++i) own[i] = sums[i];
  return fold(own);
}

template <class Real>
COHOM_HD inline std::uint32_t code_of(typename body::FloatFormat<Real>::Bits largest, Real energy) {
  if (largest == 0) return 0;
  if (largest >= body::FloatFormat<Real>::infinity) return outlier_code;
  return body::norm_code_of(std::sqrt(energy), body::floor_log2<Real>(largest));
}

/// Blocks of one frame, which stays in registers: maxima, sums, codes.
template <class T>
struct MeasureFrames {
  using Real = Arithmetic<T>;
  using Bits = typename body::FloatFormat<Real>::Bits;
  static constexpr unsigned threads = frame_threads;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 3;

  struct Shared {
    alignas(16) Bits maxima[frames_of_tile][frame_side];
    alignas(16) Real sums[frames_of_tile][frame_side];
  };
  struct Local {
    Real values[frame_side];
    Bits largest;
  };

  std::size_t tiles;
  std::size_t frames;
  const T* input;
  Real* feedback;
  std::uint32_t* codes;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local& local) const {
    const FramePosition place(at.thread);
    const std::size_t frame = at.tile * frames_of_tile + place.frame;
    if (frame >= frames) return;
    if constexpr (phase == 0) {
      Bits largest = 0;
      COHOM_UNROLL
      for (unsigned r = 0; r < frame_side; ++r)
        local.values[r] = measured(input, feedback, frame * frame_size + in_column(place, r));
      COHOM_UNROLL
      for (unsigned r = 0; r < frame_side; ++r) {
        const Bits magnitude = body::magnitude_bits(local.values[r]);
        largest = magnitude > largest ? magnitude : largest;
      }
      shared.maxima[place.frame][place.side] = largest;
    }
    if constexpr (phase == 1) {
      Bits largest = 0;
      COHOM_UNROLL
      for (unsigned i = 0; i < frame_side; ++i) {
        const Bits other = shared.maxima[place.frame][i];
        largest = other > largest ? other : largest;
      }
      local.largest = largest;
      if (largest == 0 || largest >= body::FloatFormat<Real>::infinity) return;
      shared.sums[place.frame][place.side] = column_energy(local.values, largest);
    }
    if constexpr (phase == 2) {
      if (place.side != 0) return;
      const bool plain = local.largest != 0 && local.largest < body::FloatFormat<Real>::infinity;
      codes[frame] =
          code_of<Real>(local.largest, plain ? folded(shared.sums[place.frame]) : Real{0});
    }
  }

  COHOM_HD static Real column_energy(const Real (&values)[frame_side], Bits largest) {
    const UnitScaling<Real> scale(largest);
    Real sum = 0;
    if (scale.b == 1) {
      COHOM_UNROLL
      for (Real value : values) sum = sum + (value * scale.a) * (value * scale.a);
    } else {
      COHOM_UNROLL
      for (Real value : values) {
        const Real w = (value * scale.a) * scale.b;
        sum = sum + w * w;
      }
    }
    return sum;
  }
};

/// Blocks of any size. Parts of a block are frames, or all of it where it is smaller.
template <class T>
struct MeasureBlocks {
  using Real = Arithmetic<T>;
  using Bits = typename body::FloatFormat<Real>::Bits;
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 6;
  static constexpr unsigned max_parts = 256, max_blocks = 64;

  struct Shared {
    Bits maxima[max_parts];  ///< of a part
    Bits largest[max_blocks];
    Real energies[max_parts];
    union {
      Bits column_maxima[max_parts][frame_side];
      Real column_sums[max_parts][frame_side];
    };
  };
  using Local = Nothing;

  std::size_t tiles;
  std::size_t span;  ///< elements of a tile
  std::size_t count;
  std::size_t padded;
  const T* input;
  Real* feedback;
  std::uint32_t* codes;

  [[nodiscard]] COHOM_HD unsigned part() const {
    return static_cast<unsigned>(padded < frame_size ? padded : frame_size);
  }
  [[nodiscard]] COHOM_HD unsigned parts() const { return static_cast<unsigned>(span / part()); }
  [[nodiscard]] COHOM_HD unsigned parts_of_block() const {
    return static_cast<unsigned>(padded / part());
  }
  [[nodiscard]] COHOM_HD unsigned blocks() const { return static_cast<unsigned>(span / padded); }

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    if constexpr (phase == 0) find_columns(at, shared);
    if constexpr (phase == 1) find_parts(at, shared);
    if constexpr (phase == 2) find_blocks(at, shared);
    if constexpr (phase == 3) add_columns(at, shared);
    if constexpr (phase == 4)
      for (unsigned p = at.thread; p < parts(); p += threads)
        shared.energies[p] = folded(shared.column_sums[p]);
    if constexpr (phase == 5) write_codes(at, shared);
  }

  COHOM_HD void find_parts(At at, Shared& shared) const {
    for (unsigned p = at.thread; p < parts(); p += threads) {
      Bits largest = 0;
      for (const Bits other : shared.column_maxima[p]) largest = other > largest ? other : largest;
      shared.maxima[p] = largest;
    }
  }

  COHOM_HD void find_blocks(At at, Shared& shared) const {
    for (unsigned b = at.thread; b < blocks(); b += threads) {
      Bits largest = 0;
      for (unsigned p = b * parts_of_block(); p < (b + 1) * parts_of_block(); ++p)
        largest = shared.maxima[p] > largest ? shared.maxima[p] : largest;
      shared.largest[b] = largest;
    }
  }

  COHOM_HD void write_codes(At at, Shared& shared) const {
    for (unsigned b = at.thread; b < blocks(); b += threads) {
      if (at.tile * span + std::size_t{b} * padded >= count) continue;
      Real energy = 0;
      for (unsigned p = b * parts_of_block(); p < (b + 1) * parts_of_block(); ++p)
        energy += shared.energies[p];
      codes[at.tile * blocks() + b] = code_of<Real>(shared.largest[b], energy);
    }
  }

  COHOM_HD void find_columns(At at, Shared& shared) const {
    for (unsigned i = at.thread; i < parts() * frame_side; i += threads) {
      const std::size_t first = at.tile * span + std::size_t{i / frame_side} * part();
      Bits largest = 0;
      for (unsigned e = i % frame_side; e < part() && first + e < count; e += frame_side) {
        const Bits magnitude = body::magnitude_bits(measured(input, feedback, first + e));
        largest = magnitude > largest ? magnitude : largest;
      }
      shared.column_maxima[i / frame_side][i % frame_side] = largest;
    }
  }

  /// The elements again, which are in a cache by now.
  COHOM_HD void add_columns(At at, Shared& shared) const {
    for (unsigned i = at.thread; i < parts() * frame_side; i += threads) {
      const std::size_t first = at.tile * span + std::size_t{i / frame_side} * part();
      const Bits largest = shared.largest[i / frame_side / parts_of_block()];
      Real sum = 0;
      if (largest != 0 && largest < body::FloatFormat<Real>::infinity) {
        const UnitScaling<Real> scale(largest);
        for (unsigned e = i % frame_side; e < part() && first + e < count; e += frame_side) {
          const Real value =
              feedback != nullptr ? feedback[first + e] : load_element<T>(input, first + e);
          const Real w = (value * scale.a) * scale.b;
          sum = sum + w * w;
        }
      }
      shared.column_sums[i / frame_side][i % frame_side] = sum;
    }
  }
};

}  // namespace

void measure_frames(const ThcRun& run, const void* input, void* feedback, std::uint32_t* codes) {
  const std::size_t frames = run.count / frame_size;
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(MeasureFrames<T>{.tiles = tiles_of(frames, frames_of_tile),
                            .frames = frames,
                            .input = static_cast<const T*>(input),
                            .feedback = static_cast<Arithmetic<T>*>(feedback),
                            .codes = codes});
  });
}

void measure_blocks(const BlockRun& run, const void* input, void* feedback, std::uint32_t* codes) {
  const bool alone = run.count < run.padded;
  const std::size_t span = alone ? run.padded : std::max<std::size_t>(run.padded, 1024);
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(MeasureBlocks<T>{.tiles = tiles_of(run.count, span),
                            .span = span,
                            .count = run.count,
                            .padded = run.padded,
                            .input = static_cast<const T*>(input),
                            .feedback = static_cast<Arithmetic<T>*>(feedback),
                            .codes = codes});
  });
}

}  // namespace cohom::kernels::device
