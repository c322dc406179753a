#pragma once
// The reference form of a body: block by block, element by element.

#include "kernels/core/block_kernels.hpp"
#include "kernels/core/body/element.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

/// Calls visit(number of the block, its first element, its elements).
template <class Body, class Visit>
void for_each_block(const BlockRun& run, Visit visit) {
  for (std::size_t first = 0, b = 0; first < run.count; first += Body::block, ++b)
    visit(b, first, std::min(Body::block, run.count - first));
}

template <class Body>
void scalar_measure(const typename Body::Settings& settings, const BlockRun& run, const void* input,
                    typename Body::Found* found) {
  body::with_element_type(run.type, [&]<class T>(T) {
    for_each_block<Body>(run, [&](std::size_t b, std::size_t first, std::size_t count) {
      typename Body::Seen seen{};
      for (std::size_t i = first; i < first + count; ++i)
        Body::take(settings, seen, body::load_element<T>(input, i));
      found[b] = Body::found(settings, seen);
    });
  });
}

template <class Body>
void scalar_encode(const typename Body::Settings& settings, const BlockRun& run, const void* input,
                   const typename Body::Argument* arguments, void* kept, std::uint64_t* words) {
  const std::size_t whole = Body::words(settings, Body::block);
  body::with_element_type(run.type, [&]<class T>(T) {
    using Real = body::Arithmetic<T>;
    for_each_block<Body>(run, [&](std::size_t b, std::size_t first, std::size_t count) {
      Body::encode_block(body::Alone{}, settings, arguments[b], count,
                         body::BlockInput<T>(body::element_at<T>(input, first)),
                         body::BlockKept<Real>(kept, first), words + b * whole);
    });
  });
}

template <class Body>
void scalar_decode(const typename Body::Settings& settings, const BlockRun& run,
                   const std::uint64_t* words, const typename Body::Argument* arguments, void* kept,
                   void* output) {
  const std::size_t whole = Body::words(settings, Body::block);
  body::with_element_type(run.type, [&]<class T>(T) {
    using Real = body::Arithmetic<T>;
    for_each_block<Body>(run, [&](std::size_t b, std::size_t first, std::size_t count) {
      Body::decode_block(body::Alone{}, settings, arguments[b], count, words + b * whole,
                         body::BlockKept<Real>(kept, first),
                         body::BlockOutput<T>(body::element_at<T>(output, first)));
    });
  });
}

template <class Body>
constexpr BlockKernels<Body> scalar_blocks() {
  if constexpr (MeasuringBody<Body>)
    return {scalar_measure<Body>};
  else
    return {scalar_encode<Body>, scalar_decode<Body>};
}

}  // namespace cohom::kernels
