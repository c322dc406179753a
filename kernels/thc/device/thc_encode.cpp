// Encoding with the default rotation: blocks of one frame. Every element is read once, unless a
// rest is kept; what is left of a block between phases is in registers.
//
//   0  facts of the frames; the columns of the blocks are read
//   1  scale, signs, butterflies inside columns; columns become rows
//   2  butterflies inside rows, quantising, words; with feedback what the words stand for, turned
//   back in rows 3  words that several threads have lanes of; rows become columns 4  butterflies
//   inside columns, signs, scale; what is left of the input

#include "kernels/core/body/lanes.hpp"
#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/frame.hpp"
#include "kernels/device_runtime/intrinsics.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/thc/device/thc_rows.hpp"

namespace cohom::kernels::device {
namespace {

/// What the 16 threads of a frame would all work out: each does a part.
template <class Real>
struct EncodeFacts {
  std::uint32_t signs;  ///< frames of the draws
  std::uint32_t dither;
  std::uint32_t offset;
  body::BlockScale<Real> scale, back;
};

/// Four bytes, each plus `offset` modulo 256.
COHOM_HD inline std::uint32_t add_to_bytes(std::uint32_t bytes, std::uint32_t offset) {
  const std::uint32_t offsets = offset * 0x01010101u;
  return ((bytes & 0x7f7f7f7fu) + (offsets & 0x7f7f7f7fu)) ^ ((bytes ^ offsets) & 0x80808080u);
}

/// body::grid_position for ranges below 2^22: adding 2^23 (2^52) rounds to the nearest even
/// integer.
template <class Real>
COHOM_HD inline std::uint32_t small_grid_position(Real coefficient, std::uint32_t intervals) {
  constexpr Real magic = sizeof(Real) == 4 ? Real(8388608) : Real(4503599627370496);
  const Real shifted = coefficient + static_cast<Real>(128 * intervals);
  const Real inside = smaller(larger(shifted, Real{0}), static_cast<Real>(256 * intervals));
  return static_cast<std::uint32_t>(body::bits_of(inside + magic)) & 0x7fffffu;
}

template <class T>
struct EncodeFrames {
  using Real = Arithmetic<T>;
  static constexpr unsigned threads = frame_threads;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 5;
  static constexpr unsigned warps = threads / 32;

  struct Shared {
    FrameRows<Real> rows;
    EncodeFacts<Real> facts[frames_of_tile];
    std::uint16_t lanes[frames_of_tile][frame_size];
    std::uint32_t entries[warps][ThcSettings::small_entries];
    std::uint32_t levels[warps][ThcSettings::small_levels];
  };
  struct Local {
    Real values[frame_side];
    bool there, speaks;
  };

  std::size_t tiles;
  ThcSettings settings;
  std::size_t frames;
  std::uint64_t first_frame;  ///< its number in the vector
  const T* input;
  Real* feedback;
  const std::uint32_t* codes;
  bool wide;
  std::uint64_t* words;

  [[nodiscard]] COHOM_HD unsigned width() const {
    return wide ? settings.wide_width : settings.narrow_width;
  }
  [[nodiscard]] COHOM_HD std::size_t frame_of(At at, const FramePosition& place) const {
    return at.tile * frames_of_tile + place.frame;
  }
  [[nodiscard]] COHOM_HD std::uint64_t* words_of(At at, const FramePosition& place) const {
    return words + frame_of(at, place) * body::words_per_block(frame_size, width());
  }

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local& local) const {
    const FramePosition place(at.thread);
    if constexpr (phase == 0) read(at, place, shared, local);
    if constexpr (phase == 1) turn_columns(place, shared, local);
    if constexpr (phase == 2) quantise(at, place, shared, local);
    if constexpr (phase == 3) {
      if (local.there && own_words(width()) == 0) pack(at, place, shared, local.speaks);
      if (local.speaks && feedback != nullptr) shared.rows.put_row(place, local.values);
    }
    if constexpr (phase == 4)
      if (local.speaks && feedback != nullptr) keep_rest(at, place, shared, local);
  }

  COHOM_HD void read(At at, const FramePosition& place, Shared& shared, Local& local) const {
    const std::size_t frame = frame_of(at, place);
    local.there = frame < frames;
    const unsigned warp = at.thread / 32, lane = at.thread % 32;
    shared.entries[warp][lane] = settings.entries[lane];
    if (lane < ThcSettings::small_levels)
      shared.levels[warp][lane] = settings.entries[ThcSettings::small_entries + lane];
    const std::uint32_t code = local.there ? codes[frame] : 0;
    local.speaks = !is_silent(code);
    if (!local.speaks) return;
    COHOM_UNROLL
    for (unsigned r = 0; r < frame_side; ++r) {
      const std::size_t i = frame * frame_size + in_column(place, r);
      local.values[r] = feedback != nullptr ? feedback[i] : load_element<T>(input, i);
    }
    find_facts(place, first_frame + frame, code, shared.facts[place.frame]);
  }

  COHOM_HD void find_facts(const FramePosition& place, std::uint64_t number, std::uint32_t code,
                           EncodeFacts<Real>& facts) const {
    if (place.side == 0) facts.signs = body::frame(settings.sign_key, number);
    if (place.side == 1) facts.dither = body::frame(settings.dither_key, number);
    if (place.side == 2) facts.offset = settings.dither_offset(number);
    const auto norm = body::norm_of_code<Real>(code);
    if (place.side == 3) facts.scale = body::encode_scale_of(settings.encode_scale, norm);
    if (place.side == 4 && feedback != nullptr)
      facts.back = body::decode_scale_of(settings.decode_scale, frame_size, norm);
  }

  COHOM_HD void turn_columns(const FramePosition& place, Shared& shared, Local& local) const {
    if (!local.speaks) return;
    const EncodeFacts<Real>& facts = shared.facts[place.frame];
    const std::uint32_t signs = body::draw(facts.signs, place.side);
    if (facts.scale.power != 1) {
      COHOM_UNROLL
      for (Real& value : local.values) value *= facts.scale.power;
    }
    COHOM_UNROLL
    for (unsigned r = 0; r < frame_side; ++r)
      local.values[r] = flip_by_bit(local.values[r] * facts.scale.factor, signs, r);
    turn(local.values);
    shared.rows.put_column(place, local.values);
  }

  COHOM_HD void quantise(At at, const FramePosition& place, Shared& shared, Local& local) const {
    if (!local.there) return;
    if (!local.speaks) {
      if (own_words(width()) != 0) clear(at, place);
      return;
    }
    shared.rows.get_row(place, local.values);
    turn(local.values);
    std::uint32_t found[frame_side];
    find_indices(at, place, shared, local, found);
    if (!wide) put(at, place, shared, found);
    if (wide || feedback != nullptr) to_levels(at, shared, found);
    if (wide) put(at, place, shared, found);
    if (feedback == nullptr) return;
    const auto bias = static_cast<std::int32_t>(settings.intervals);
    COHOM_UNROLL
    for (unsigned c = 0; c < frame_side; ++c)
      local.values[c] = static_cast<Real>(2 * static_cast<std::int32_t>(found[c]) - bias);
    turn(local.values);
  }

  COHOM_HD void find_indices(At at, const FramePosition& place, const Shared& shared,
                             const Local& local, std::uint32_t (&found)[frame_side]) const {
    const EncodeFacts<Real>& facts = shared.facts[place.frame];
    const std::uint32_t mask = settings.dither_mask * 0x01010101u;
    std::uint32_t dithers[4];
    COHOM_UNROLL
    for (unsigned four = 0; four < 4; ++four)
      dithers[four] = add_to_bytes(body::draw(facts.dither, four * frame_side + place.side) & mask,
                                   facts.offset);
    if (settings.quantiser == ThcQuantiser::small) {
      const std::uint32_t* const entries = shared.entries[at.thread / 32];
      COHOM_UNROLL
      for (unsigned c = 0; c < frame_side; ++c) {
        const std::uint32_t position = small_grid_position(local.values[c], settings.intervals);
        const std::uint32_t entry = entries[position >> 8 & 31];
        const std::uint32_t dither = dithers[c / 4] >> (c % 4 * 8) & 0xff;
        found[c] = ((entry & 0xff) * dither + (entry >> 8) + (position & 0xff)) >> 12;
      }
      return;
    }
    COHOM_UNROLL
    for (unsigned c = 0; c < frame_side; ++c)
      found[c] = settings.index_or_level(body::grid_position(local.values[c], settings.intervals),
                                         dithers[c / 4] >> (c % 4 * 8) & 0xff);
  }

  COHOM_HD void to_levels(At at, const Shared& shared, std::uint32_t (&found)[frame_side]) const {
    COHOM_UNROLL
    for (std::uint32_t& value : found)
      value = settings.quantiser == ThcQuantiser::small ? shared.levels[at.thread / 32][value]
                                                        : settings.level(value);
  }

  COHOM_HD void put(At at, const FramePosition& place, Shared& shared,
                    const std::uint32_t (&values)[frame_side]) const {
    std::uint64_t* const own = words_of(at, place);
    switch (own_words(width())) {
      case 1: return put_own_words<1>(place, values, own);
      case 2: return put_own_words<2>(place, values, own);
      case 4: return put_own_words<4>(place, values, own);
      case 8: return put_own_words<8>(place, values, own);
      default: break;
    }
    COHOM_UNROLL
    for (unsigned c = 0; c < frame_side; ++c)
      shared.lanes[place.frame][c * frame_side + place.side] =
          static_cast<std::uint16_t>(values[c]);
  }

  COHOM_HD void clear(At at, const FramePosition& place) const {
    for (unsigned w = place.side; w < width() * 4; w += frame_side) words_of(at, place)[w] = 0;
  }

  COHOM_HD void pack(At at, const FramePosition& place, const Shared& shared, bool speaks) const {
    const auto size = static_cast<unsigned>(body::words_per_block(frame_size, width()));
    for (unsigned w = place.side; w < size; w += frame_side) {
      std::uint64_t word = 0;
      unsigned shift = 0;
      for (unsigned p = w; speaks && p < frame_size; p += size, shift += width())
        word |= std::uint64_t{shared.lanes[place.frame][p]} << shift;
      words_of(at, place)[w] = word;
    }
  }

  COHOM_HD void keep_rest(At at, const FramePosition& place, const Shared& shared,
                          Local& local) const {
    shared.rows.get_column(place, local.values);
    turn(local.values);
    const EncodeFacts<Real>& facts = shared.facts[place.frame];
    const std::uint32_t signs = body::draw(facts.signs, place.side);
    Real* const state = feedback + frame_of(at, place) * frame_size;
    COHOM_UNROLL
    for (unsigned r = 0; r < frame_side; ++r) {
      const Real flipped = flip_by_bit(local.values[r], signs, r);
      Real& rest = state[in_column(place, r)];
      rest = rest - (flipped * facts.back.factor) * facts.back.power;
    }
  }
};

}  // namespace

void encode_frames(const ThcSettings& settings, const ThcRun& run, const void* input,
                   void* feedback, const std::uint32_t* codes, Form form, std::uint64_t* words) {
  const std::size_t frames = run.count / frame_size;
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(EncodeFrames<T>{.tiles = tiles_of(frames, frames_of_tile),
                           .settings = settings,
                           .frames = frames,
                           .first_frame = run.first / frame_size,
                           .input = static_cast<const T*>(input),
                           .feedback = static_cast<Arithmetic<T>*>(feedback),
                           .codes = codes,
                           .wide = form == Form::wide,
                           .words = words});
  });
}

}  // namespace cohom::kernels::device
