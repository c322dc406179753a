// Sampling signs where the number of ranks is 4, 8 or 16: a lane holds a group of positions, and a
// permutation is arithmetic modulo the ranks instead of a table. See kernels/sample/sample.hpp.

#if defined(COHOM_SAMPLE_GROUPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_SAMPLE_GROUPS_INL_H
#undef COHOM_SAMPLE_GROUPS_INL_H
#else
#define COHOM_SAMPLE_GROUPS_INL_H
#endif

#include "kernels/core/body/random.hpp"
#include "kernels/sample/cpu/sample_blocks.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using GroupTag = hn::ScalableTag<std::uint32_t>;
using Groups = hn::Vec<GroupTag>;

/// mix32 of kernels/core/body/random.hpp.
HWY_INLINE Groups mixed(Groups x) {
  const GroupTag d;
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x7feb352du));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(d, 0x846ca68bu));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

/// Draws of a block's groups, a vector of them at a time.
class GroupDraws {
 public:
  explicit HWY_INLINE GroupDraws(std::uint32_t frame)
      : next_(hn::Add(hn::Set(GroupTag(), frame),
                      hn::Mul(hn::Iota(GroupTag(), 0), hn::Set(GroupTag(), body::golden32)))) {}

  HWY_INLINE Groups next() {
    const GroupTag d;
    const Groups now = next_;
    next_ = hn::Add(next_, hn::Set(d, static_cast<std::uint32_t>(hn::Lanes(d)) * body::golden32));
    return mixed(now);
  }

 private:
  Groups next_;
};

/// Position i of a group takes rank (factor i + shift) mod ranks. With 2^log ranks the odd numbers
/// are the units, and the draw's upper bits are first the shift, then the number of the factor.
template <int log>
struct GroupPermutations {
  Groups factor, shift;

  explicit HWY_INLINE GroupPermutations(Groups draw) {
    const GroupTag d;
    const Groups unit =
        hn::And(hn::ShiftRight<32 - (2 * log - 1)>(draw), hn::Set(d, (1u << (log - 1)) - 1));
    factor = hn::Or(hn::ShiftLeft<1>(unit), hn::Set(d, 1u));
    shift = hn::ShiftRight<32 - log>(draw);
  }

  /// Where `rank` is chosen. Up to 8 ranks a factor is its own inverse, with 16 its third power is.
  HWY_INLINE Groups position_of(Groups rank) const {
    const Groups inverse = log <= 3 ? factor : hn::Mul(hn::Mul(factor, factor), factor);
    return hn::And(hn::Mul(inverse, hn::Sub(rank, shift)), hn::Set(GroupTag(), (1u << log) - 1));
  }
};

/// A block's words, and zeros behind them so that whole vectors can be read.
using BlockBytes = std::array<std::uint8_t, sign_block / 8 + HWY_MAX_BYTES>;

template <int log>
HWY_INLINE Groups load_groups(const std::uint8_t* bytes) {
  const GroupTag d;
  const Groups bits = hn::ShiftLeft<log>(hn::Iota(d, 0));  // where a lane's group begins
  const Groups source = hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(bytes));
  const Groups words = hn::TableLookupLanes(source, hn::IndicesFromVec(d, hn::ShiftRight<5>(bits)));
  return hn::And(hn::Shr(words, hn::And(bits, hn::Set(d, 31u))),
                 hn::Set(d, (1u << (1 << log)) - 1));
}

template <int log>
void gather_own_groups(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                       const std::uint64_t* bits, std::uint64_t* own) {
  const GroupTag d;
  const Groups rank = hn::Set(d, format.rank);
  for_each_sample_block(format, key, run, [&](const SampleBlock& block) {
    BlockBytes bytes{};
    std::memcpy(bytes.data(), bits + block.first / 64, 8 * block.words());
    std::uint64_t found[sign_block / 64 / 4] = {};
    GroupDraws draws(block.frame);
    for (std::size_t g = 0; g < block.groups; g += hn::Lanes(d)) {
      const GroupPermutations<log> permutations(draws.next());
      const Groups groups = load_groups<log>(bytes.data() + (g << log) / 8);
      const Groups chosen = hn::Shl(hn::Set(d, 1u), permutations.position_of(rank));
      std::uint8_t part[8] = {};
      hn::StoreMaskBits(d, hn::TestBit(groups, chosen), part);
      std::uint16_t some;
      std::memcpy(&some, part, 2);
      found[g / 64] |= std::uint64_t{some} << (g % 64);
    }
    std::copy_n(found, (block.groups + 63) / 64, own + block.own_first / 64);
  });
}

/// Groups of 4, 8 or 16 bits a lane, one behind the other.
template <int log>
HWY_INLINE void store_groups(Groups groups, std::uint8_t* bytes) {
  if constexpr (log == 4) {
    const hn::Rebind<std::uint16_t, GroupTag> narrow;
    hn::StoreU(hn::TruncateTo(narrow, groups), narrow, reinterpret_cast<std::uint16_t*>(bytes));
  } else if constexpr (log == 3) {
    const hn::Rebind<std::uint8_t, GroupTag> narrow;
    hn::StoreU(hn::TruncateTo(narrow, groups), narrow, bytes);
  } else {
    const hn::Repartition<std::uint64_t, GroupTag> pairs;
    const hn::Rebind<std::uint8_t, decltype(pairs)> narrow;
    const auto two = hn::BitCast(pairs, groups);
    hn::StoreU(hn::TruncateTo(narrow, hn::Or(two, hn::ShiftRight<28>(two))), narrow, bytes);
  }
}

template <int log>
void place_groups(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                  const std::uint64_t* const* contributions, std::uint64_t* bits) {
  constexpr std::uint32_t ranks = 1u << log;
  const GroupTag d;
  const Groups one = hn::Set(d, 1u), modulo = hn::Set(d, ranks - 1);
  const Groups lane_bit = hn::Shl(one, hn::Iota(d, 0));
  for_each_sample_block(format, key, run, [&](const SampleBlock& block) {
    BlockBytes bytes{};
    GroupDraws draws(block.frame);
    for (std::size_t g = 0; g < block.groups; g += hn::Lanes(d)) {
      const GroupPermutations<log> permutations(draws.next());
      const std::size_t from = block.own_first + g;
      Groups column = hn::Zero(d);  // bit r: what rank r has for the group
      for (std::uint32_t r = 0; r < ranks; ++r) {
        const auto some = static_cast<std::uint32_t>(contributions[r][from / 64] >> (from % 64));
        const auto plus = hn::TestBit(hn::Set(d, some), lane_bit);
        column = hn::Or(column, hn::IfThenElseZero(plus, hn::Set(d, 1u << r)));
      }
      Groups group = hn::Zero(d), rank = permutations.shift;
      for (std::uint32_t i = 0; i < ranks; ++i) {
        const Groups bit = hn::And(hn::Shr(column, hn::And(rank, modulo)), one);
        group = hn::Or(group, hn::Shl(bit, hn::Set(d, i)));
        rank = hn::Add(rank, permutations.factor);
      }
      store_groups<log>(group, bytes.data() + (g << log) / 8);
    }
    std::memcpy(bits + block.first / 64, bytes.data(), 8 * block.words());
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
