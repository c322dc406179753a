// Eight bit streams side by side. No branch asks whether a word is full: the answer is as good as
// random.

#if defined(COHOM_EXACT_STREAMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_EXACT_STREAMS_INL_H
#undef COHOM_EXACT_STREAMS_INL_H
#else
#define COHOM_EXACT_STREAMS_INL_H
#endif

#include "kernels/exact/body/exact_streams.hpp"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/exact/cpu/exact_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

/// Where fields of more bits than a word takes are cut.
inline constexpr unsigned exact_low_part = 48;

/// All ones or zeros.
HWY_INLINE ExactV exact_mask(bool condition) {
  return hn::Set(ExactD(), condition ? ~std::uint64_t{0} : 0);
}

/// Writes no word behind those of the fields.
class StreamsWriter {
 public:
  StreamsWriter(std::uint64_t* words, unsigned word_bits)
      : words_(words),
        word_bits_(word_bits),
        mask_(hn::Set(ExactD(), body::low_bits(word_bits))),
        word_(eight([](std::size_t) { return hn::Zero(ExactD()); })) {}

  /// 0 < bits <= word_bits; no bit of x is set above.
  HWY_INLINE void put(const Eight<ExactV>& x, unsigned bits) {
    const ExactD d;
    const bool full = used_ + bits >= word_bits_;
    const auto begins_word = exact_mask(full);
    const int used = static_cast<int>(used_), rest = static_cast<int>(word_bits_ - used_);
    for (std::size_t p = 0; p < exact_parts; ++p) {
      const auto word = hn::Or(word_.part[p], hn::ShiftLeftSame(x.part[p], used));
      hn::StoreU(hn::And(word, mask_), d, words_ + p * exact_lanes);
      word_.part[p] = hn::IfVecThenElse(begins_word, hn::ShiftRightSame(x.part[p], rest), word);
    }
    used_ = used_ + bits - (full ? word_bits_ : 0);
    words_ += full ? exact_streams : 0;
  }
  /// Of at most 64 bits.
  HWY_INLINE void put_long(const Eight<ExactV>& x, unsigned bits) {
    if (bits <= word_bits_) return put(x, bits);
    const auto low = hn::Set(ExactD(), body::low_bits(exact_low_part));
    put(eight([&](std::size_t p) { return hn::And(x.part[p], low); }), exact_low_part);
    put(eight([&](std::size_t p) { return hn::ShiftRight<exact_low_part>(x.part[p]); }),
        bits - exact_low_part);
  }
  /// Writes what is left of the last words; returns the words behind them.
  std::uint64_t* finish() {
    if (used_ == 0) return words_;
    for (std::size_t p = 0; p < exact_parts; ++p)
      hn::StoreU(word_.part[p], ExactD(), words_ + p * exact_lanes);
    return words_ + exact_streams;
  }

 private:
  std::uint64_t* words_;
  unsigned word_bits_;
  unsigned used_ = 0;
  ExactV mask_;
  Eight<ExactV> word_;
};

/// Reads no word behind those of the fields, `size` words.
class StreamsReader {
 public:
  StreamsReader(const std::uint64_t* words, std::size_t size, unsigned word_bits)
      : words_(words),
        last_(words + size - exact_streams),
        word_bits_(word_bits),
        mask_(hn::Set(ExactD(), body::low_bits(word_bits))),
        word_(eight([](std::size_t) { return hn::Zero(ExactD()); })),
        carry_(word_) {}

  /// 0 < bits <= word_bits.
  HWY_INLINE Eight<ExactV> get(unsigned bits) {
    const ExactD d;
    const bool more = left_ < bits;
    const auto ends_word = exact_mask(more);
    const auto field = hn::Set(d, body::low_bits(bits));
    const int left = static_cast<int>(left_), count = static_cast<int>(bits);
    const int rest = more ? count - left : 0, word_bits = static_cast<int>(word_bits_);
    Eight<ExactV> x;
    for (std::size_t p = 0; p < exact_parts; ++p) {
      const auto sum = hn::Add(hn::LoadU(d, words_ + p * exact_lanes), carry_.part[p]);
      const auto next = hn::And(sum, mask_);
      x.part[p] = hn::And(hn::Or(word_.part[p], hn::ShiftLeftSame(next, left)), field);
      word_.part[p] = hn::IfVecThenElse(ends_word, hn::ShiftRightSame(next, rest),
                                        hn::ShiftRightSame(word_.part[p], count));
      // Of words of 64 bits nothing is carried: on all targets here a shift by 64 gives 0.
      carry_.part[p] =
          hn::IfVecThenElse(ends_word, hn::ShiftRightSame(sum, word_bits), carry_.part[p]);
    }
    // Behind the last words nothing of what is loaded counts, so they are as good as the next.
    words_ += more && words_ != last_ ? exact_streams : 0;
    left_ = left_ + (more ? word_bits_ : 0) - bits;
    return x;
  }
  [[nodiscard]] unsigned word_bits() const { return word_bits_; }

 private:
  const std::uint64_t* words_;
  const std::uint64_t* last_;
  unsigned word_bits_;
  unsigned left_ = 0;
  ExactV mask_;
  Eight<ExactV> word_, carry_;
};

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
