// The form of a body for one instruction set: the same functions, inlined into loops that are
// compiled for it, where the compiler makes vectors of them. Elements of 16 bits become f32 and
// back by vectors of ours, a block at a time.
//
// Include the body before <hwy/foreach_target.h>: it is compiled once, for the baseline, which is
// what a function of it runs as that the compiler does not inline.

#if defined(COHOM_BLOCK_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_BLOCK_LOOPS_INL_H
#undef COHOM_BLOCK_LOOPS_INL_H
#else
#define COHOM_BLOCK_LOOPS_INL_H
#endif

#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/core/cpu/scalar_blocks.hpp"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

/// Elements of a block, as numbers.
template <class T, std::size_t size>
class BlockNumbers {
 public:
  using Real = body::Arithmetic<T>;

  /// The block's elements; those of 16 bits are made numbers here.
  HWY_INLINE body::BlockInput<Real> read(const void* array, std::size_t first, std::size_t count) {
    if constexpr (sizeof(T) == sizeof(Real)) {
      return body::BlockInput<Real>(element_at<T>(array, first));
    } else {
      std::size_t i = 0;
      for (; i + lanes() <= count; i += lanes())
        hn::StoreU(Elements<T>::load(Tag(), array, first + i), Tag(), numbers_ + i);
      for (; i < count; ++i) numbers_[i] = body::load_element<T>(array, first + i);
      return body::BlockInput<Real>(numbers_);
    }
  }
  /// Where a block's numbers are to be written, before write().
  HWY_INLINE body::BlockOutput<Real> place(void* array, std::size_t first) {
    if constexpr (sizeof(T) == sizeof(Real))
      return body::BlockOutput<Real>(element_at<T>(array, first));
    else
      return body::BlockOutput<Real>(numbers_);
  }
  HWY_INLINE void write(void* array, std::size_t first, std::size_t count) const {
    if constexpr (sizeof(T) < sizeof(Real)) {
      std::size_t i = 0;
      for (; i + lanes() <= count; i += lanes())
        Elements<T>::store(Tag(), hn::LoadU(Tag(), numbers_ + i), array, first + i);
      for (; i < count; ++i) body::store_element<T>(array, first + i, numbers_[i]);
    }
  }

 private:
  using Tag = hn::ScalableTag<Real>;
  static HWY_INLINE std::size_t lanes() { return hn::Lanes(Tag()); }

  HWY_ALIGN Real numbers_[sizeof(T) == sizeof(Real) ? 1 : size];
};

template <class Body, class T>
HWY_FLATTEN void measure_blocks_of(const typename Body::Settings& settings, const BlockRun& run,
                                   const void* input, typename Body::Found* found) {
  BlockNumbers<T, Body::block> numbers;
  for (std::size_t first = 0; first < run.count; first += Body::block) {
    const std::size_t count = HWY_MIN(Body::block, run.count - first);
    const auto block = numbers.read(input, first, count);
    typename Body::Seen seen{};
    for (std::size_t i = 0; i < count; ++i) Body::take(settings, seen, block[i]);
    *found++ = Body::found(settings, seen);
  }
}

template <class Body, class T>
HWY_FLATTEN void encode_blocks_of(const typename Body::Settings& settings, const BlockRun& run,
                                  const void* input, const typename Body::Argument* arguments,
                                  void* kept, std::uint64_t* words) {
  using Real = body::Arithmetic<T>;
  const std::size_t whole = Body::words(settings, Body::block);
  BlockNumbers<T, Body::block> numbers;
  for (std::size_t first = 0; first < run.count; first += Body::block) {
    const std::size_t block = first / Body::block;
    const std::size_t count = HWY_MIN(Body::block, run.count - first);
    const body::BlockKept<Real> own(kept, first);
    Body::encode_block(body::Alone{}, settings, arguments[block], count,
                       numbers.read(input, first, count), own, words + block * whole);
  }
}

template <class Body, class T>
HWY_FLATTEN void decode_blocks_of(const typename Body::Settings& settings, const BlockRun& run,
                                  const std::uint64_t* words,
                                  const typename Body::Argument* arguments, void* kept,
                                  void* output) {
  using Real = body::Arithmetic<T>;
  const std::size_t whole = Body::words(settings, Body::block);
  BlockNumbers<T, Body::block> numbers;
  for (std::size_t first = 0; first < run.count; first += Body::block) {
    const std::size_t block = first / Body::block;
    const std::size_t count = HWY_MIN(Body::block, run.count - first);
    const body::BlockKept<Real> own(kept, first);
    if (Body::decode_block(body::Alone{}, settings, arguments[block], count, words + block * whole,
                           own, numbers.place(output, first)))
      numbers.write(output, first, count);
  }
}

template <class Body>
void measure_blocks(const typename Body::Settings& settings, const BlockRun& run, const void* input,
                    typename Body::Found* found) {
  body::with_element_type(
      run.type, [&]<class T>(T) { measure_blocks_of<Body, T>(settings, run, input, found); });
}

template <class Body>
void encode_blocks(const typename Body::Settings& settings, const BlockRun& run, const void* input,
                   const typename Body::Argument* arguments, void* kept, std::uint64_t* words) {
  body::with_element_type(run.type, [&]<class T>(T) {
    encode_blocks_of<Body, T>(settings, run, input, arguments, kept, words);
  });
}

template <class Body>
void decode_blocks(const typename Body::Settings& settings, const BlockRun& run,
                   const std::uint64_t* words, const typename Body::Argument* arguments, void* kept,
                   void* output) {
  body::with_element_type(run.type, [&]<class T>(T) {
    decode_blocks_of<Body, T>(settings, run, words, arguments, kept, output);
  });
}

template <class Body>
BlockKernels<Body> vector_blocks() {
  if constexpr (MeasuringBody<Body>)
    return {measure_blocks<Body>};
  else
    return {encode_blocks<Body>, decode_blocks<Body>};
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
