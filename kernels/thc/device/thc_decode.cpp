// Decoding with the default rotation: blocks of one frame.
//
//   0  facts of the frames; a row of each is read from the words, butterflies inside rows; rows
//   become
//      columns
//   1  butterflies inside columns, signs, scale; elements

#include "kernels/core/body/lanes.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/frame.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/thc/device/thc_rows.hpp"

namespace cohom::kernels::device {
namespace {

template <class T>
struct DecodeFrames {
  using Real = Arithmetic<T>;
  static constexpr unsigned threads = frame_threads;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 2;

  struct Facts {
    std::uint32_t signs;
    body::BlockScale<Real> scale;
  };
  struct Shared {
    FrameRows<Real> rows;
    Facts facts[frames_of_tile];
  };
  struct Local {
    std::uint32_t code;
  };

  std::size_t tiles;
  ThcSettings settings;
  std::size_t frames;
  std::uint64_t first_frame;
  const std::uint64_t* sum;
  std::int64_t bias;  ///< what all contributions' zero adds up to
  bool small;         ///< twice a sum, and the bias, are below 2^23
  const std::uint32_t* codes;
  Divider<Real> divided;
  T* output;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local& local) const {
    const FramePosition place(at.thread);
    const std::size_t frame = at.tile * frames_of_tile + place.frame;
    if constexpr (phase == 0) {
      local.code = frame < frames ? codes[frame] : outlier_code;
      if (is_silent(local.code)) return;
      Real values[frame_side];
      read_row(place, frame, values);
      find_facts(place, first_frame + frame, local.code, shared.facts[place.frame]);
      turn(values);
      shared.rows.put_row(place, values);
    } else {
      T* const to = output + frame * frame_size;
      if (local.code == 0)
        for (unsigned r = 0; r < frame_side; ++r)
          store_element<T>(to, in_column(place, r), Real{0});
      if (!is_silent(local.code)) write_column(place, shared, to);
    }
  }

  COHOM_HD void find_facts(const FramePosition& place, std::uint64_t number, std::uint32_t code,
                           Facts& facts) const {
    if (place.side == 0) facts.signs = body::frame(settings.sign_key, number);
    if (place.side == 1)
      facts.scale =
          body::decode_scale_of(settings.decode_scale, frame_size, body::norm_of_code<Real>(code));
  }

  COHOM_HD void read_row(const FramePosition& place, std::size_t frame,
                         Real (&values)[frame_side]) const {
    const unsigned width = settings.wide_width;
    const std::size_t size = body::words_per_block(frame_size, width);
    const std::uint64_t* const words = sum + frame * size;
    std::uint32_t sums[frame_side];
    switch (own_words(width)) {
      case 1: get_own_words<1>(place, words, sums); break;
      case 2: get_own_words<2>(place, words, sums); break;
      case 4: get_own_words<4>(place, words, sums); break;
      case 8: get_own_words<8>(place, words, sums); break;
      default:
        COHOM_UNROLL
        for (unsigned c = 0; c < frame_side; ++c)
          sums[c] = static_cast<std::uint32_t>(
              body::lane_at(words, size, width, c * frame_side + place.side));
    }
    if (small) {
      // 2^23 plus a small number has it in its lowest bits; taking 2^23 plus the bias away is
      // exact.
      constexpr Real magic = Real(8388608);
      const Real zero = magic + static_cast<Real>(bias);
      COHOM_UNROLL
      for (unsigned c = 0; c < frame_side; ++c) values[c] = small_number(2 * sums[c]) - zero;
    } else {
      COHOM_UNROLL
      for (unsigned c = 0; c < frame_side; ++c)
        values[c] = static_cast<Real>(2 * static_cast<std::int64_t>(sums[c]) - bias);
    }
  }

  /// 2^23 + number, for numbers below 2^23.
  COHOM_HD static Real small_number(std::uint32_t number) {
    if constexpr (sizeof(Real) == 4)
      return body::from_bits<float>(0x4b000000u | number);
    else
      return body::from_bits<double>(0x4160000000000000u | std::uint64_t{number} << 29);
  }

  COHOM_HD void write_column(const FramePosition& place, const Shared& shared, T* to) const {
    Real values[frame_side];
    shared.rows.get_column(place, values);
    turn(values);
    const Facts& facts = shared.facts[place.frame];
    const std::uint32_t signs = body::draw(facts.signs, place.side);
    COHOM_UNROLL
    for (unsigned r = 0; r < frame_side; ++r)
      values[r] = flip_by_bit(values[r], signs, r) * facts.scale.factor;
    if (facts.scale.power != 1) {
      COHOM_UNROLL
      for (Real& value : values) value *= facts.scale.power;
    }
    COHOM_UNROLL
    for (unsigned r = 0; r < frame_side; ++r)
      store_element<T>(to, in_column(place, r), divided(values[r]));
  }
};

}  // namespace

void decode_frames(const ThcSettings& settings, const ThcRun& run, const std::uint64_t* sum,
                   std::size_t contributions, const std::uint32_t* codes, std::uint64_t divisor,
                   void* output) {
  const std::size_t frames = run.count / frame_size;
  const auto bias = static_cast<std::int64_t>(contributions) * settings.intervals;
  const bool small = settings.wide_width <= 16 && bias < (std::int64_t{1} << 22);
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(DecodeFrames<T>{.tiles = tiles_of(frames, frames_of_tile),
                           .settings = settings,
                           .frames = frames,
                           .first_frame = run.first / frame_size,
                           .sum = sum,
                           .bias = bias,
                           .small = small,
                           .codes = codes,
                           .divided = Divider<Arithmetic<T>>(divisor),
                           .output = static_cast<T*>(output)});
  });
}

}  // namespace cohom::kernels::device
