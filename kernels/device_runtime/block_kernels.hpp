#pragma once
// A device's form of a body (core/body/block.hpp): the threads of a team share a block, and blocks
// lie side by side in a tile.

#include "kernels/core/block_kernels.hpp"
#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

/// What all of a body's kernels have.
template <class Body>
struct BlockTiles {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;  // of which a team is part
  static constexpr unsigned team = Body::team;
  static constexpr std::size_t blocks = threads / team;
  static_assert(32 % team == 0);

  std::size_t tiles;
  typename Body::Settings settings;
  std::size_t count;  ///< elements

  [[nodiscard]] COHOM_HD std::size_t block_of(At at) const {
    return at.tile * blocks + at.thread / team;
  }
  /// Elements of a block; 0 behind the last one.
  [[nodiscard]] COHOM_HD std::size_t elements_of(std::size_t block) const {
    const std::size_t first = block * Body::block;
    const std::size_t left = first < count ? count - first : 0;
    return left < Body::block ? left : Body::block;
  }

  static BlockTiles of(const typename Body::Settings& settings, std::size_t count) {
    return {tiles_of(tiles_of(count, Body::block), blocks), settings, count};
  }
};

/// What each thread has seen is joined in two steps.
template <class Body, class T>
struct MeasureByBody : BlockTiles<Body> {
  using Tiles = BlockTiles<Body>;
  static constexpr int phases = 3;
  static constexpr unsigned pack = Pack<T>::size;
  static constexpr unsigned side = Tiles::team < 4 ? Tiles::team : 4;  ///< threads of the first
  struct Shared {
    typename Body::Seen seen[Tiles::threads];
  };
  using Local = Nothing;

  const T* input;
  bool packed;  ///< at an address of packs
  typename Body::Found* result;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    const std::size_t block = this->block_of(at);
    const std::size_t elements = this->elements_of(block);
    const unsigned thread = at.thread % Tiles::team;
    typename Body::Seen* const own = shared.seen + (at.thread - thread);
    if constexpr (phase == 0)
      own[thread] = elements == 0 ? typename Body::Seen{}
                                  : seen_by(thread, input + block * Body::block, elements);
    if constexpr (phase == 1)
      if (thread < side)
        for (unsigned t = thread + side; t < Tiles::team; t += side)
          Body::join(own[thread], own[t]);
    if constexpr (phase == 2) {
      if (thread != 0 || elements == 0) return;
      for (unsigned t = 1; t < side; ++t) Body::join(own[0], own[t]);
      result[block] = Body::found(this->settings, own[0]);
    }
  }

  [[nodiscard]] COHOM_HD typename Body::Seen seen_by(unsigned thread, const T* from,
                                                     std::size_t elements) const {
    typename Body::Seen seen{};
    if (packed && elements == Body::block && Body::block % pack == 0) {
      const auto* const packs = reinterpret_cast<const Pack<T>*>(from);
      for (std::size_t p = thread; p < Body::block / pack; p += Tiles::team) {
        const Pack<T> read = packs[p];
        COHOM_UNROLL
        for (unsigned i = 0; i < pack; ++i)
          Body::take(this->settings, seen, body::to_arithmetic(read.values[i]));
      }
    } else {
      for (std::size_t i = thread; i < elements; i += Tiles::team)
        Body::take(this->settings, seen, body::to_arithmetic(from[i]));
    }
    return seen;
  }
};

template <class Body, class T>
struct EncodeByBody : BlockTiles<Body> {
  using Tiles = BlockTiles<Body>;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  const T* input;
  const typename Body::Argument* arguments;
  Arithmetic<T>* kept;
  std::uint64_t* words;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t block = this->block_of(at), first = block * Body::block;
    const std::size_t elements = this->elements_of(block);
    if (elements == 0) return;
    Body::encode_block(body::TeamThread<Tiles::team>{at.thread % Tiles::team}, this->settings,
                       arguments[block], elements, body::BlockInput<T>(input + first),
                       body::BlockKept<Arithmetic<T>>(kept, first),
                       words + block * Body::words(this->settings, Body::block));
  }
};

template <class Body, class T>
struct DecodeByBody : BlockTiles<Body> {
  using Tiles = BlockTiles<Body>;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  const std::uint64_t* words;
  const typename Body::Argument* arguments;
  Arithmetic<T>* kept;
  T* output;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t block = this->block_of(at), first = block * Body::block;
    const std::size_t elements = this->elements_of(block);
    if (elements == 0) return;
    Body::decode_block(
        body::TeamThread<Tiles::team>{at.thread % Tiles::team}, this->settings, arguments[block],
        elements, words + block * Body::words(this->settings, Body::block),
        body::BlockKept<Arithmetic<T>>(kept, first), body::BlockOutput<T>(output + first));
  }
};

/// The arguments of a run's blocks, where kernels read them.
template <class Body>
const typename Body::Argument* uploaded_arguments(DeviceContext& context, const BlockRun& run,
                                                  const typename Body::Argument* arguments) {
  const std::size_t bytes = tiles_of(run.count, Body::block) * sizeof *arguments;
  return static_cast<const typename Body::Argument*>(view(context.upload(arguments, bytes)));
}

template <class Body>
void measure_blocks(const typename Body::Settings& settings, const BlockRun& run, const void* input,
                    typename Body::Found* found) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(input, size_of(run.type), "elements to measure");
  const std::size_t bytes = tiles_of(run.count, Body::block) * sizeof *found;
  auto* const result = static_cast<typename Body::Found*>(context.scratch(bytes));
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(MeasureByBody<Body, T>{BlockTiles<Body>::of(settings, run.count),
                                  view(static_cast<const T*>(input)), aligned_to(input, 16),
                                  view(result)});
  });
  context.download(found, result, bytes);
}

template <class Body>
void encode_blocks(const typename Body::Settings& settings, const BlockRun& run, const void* input,
                   const typename Body::Argument* arguments, void* kept, std::uint64_t* words) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(input, size_of(run.type), "elements to encode");
  expect_aligned(kept, feedback_bytes(run.type), "what is kept of elements");
  expect_aligned(words, 8, "words to encode to");
  const auto* const uploaded = uploaded_arguments<Body>(context, run, arguments);
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(EncodeByBody<Body, T>{BlockTiles<Body>::of(settings, run.count),
                                 view(static_cast<const T*>(input)), uploaded,
                                 view(static_cast<Arithmetic<T>*>(kept)), view(words)});
  });
}

template <class Body>
void decode_blocks(const typename Body::Settings& settings, const BlockRun& run,
                   const std::uint64_t* words, const typename Body::Argument* arguments, void* kept,
                   void* output) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(words, 8, "words to decode");
  expect_aligned(kept, feedback_bytes(run.type), "what is kept of elements");
  expect_aligned(output, size_of(run.type), "the place of decoded elements");
  const auto* const uploaded = uploaded_arguments<Body>(context, run, arguments);
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(DecodeByBody<Body, T>{BlockTiles<Body>::of(settings, run.count), view(words), uploaded,
                                 view(static_cast<Arithmetic<T>*>(kept)),
                                 view(static_cast<T*>(output))});
  });
}

template <class Body>
BlockKernels<Body> block_kernels() {
  if constexpr (MeasuringBody<Body>)
    return {measure_blocks<Body>};
  else
    return {encode_blocks<Body>, decode_blocks<Body>};
}

}  // namespace cohom::kernels::device
