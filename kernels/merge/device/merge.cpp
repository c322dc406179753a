// Merging words and elements, and finishing elements: each is read once and written once.

#include "kernels/core/body/float_bits.hpp"
#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/merge/device/merge_rows.hpp"

#include <algorithm>
#include <vector>

namespace cohom::kernels::device {
namespace {

using Word = std::uint64_t;

// What is merged: how a value becomes a running sum, takes another, and is written.

struct Words {
  using Value = Word;
  using Running = Word;
  static COHOM_HD Running begin(Value value) { return value; }
  static COHOM_HD Value end(Running sum) { return sum; }
};
struct AddWords : Words {
  static COHOM_HD Running merged(Running a, Value b) { return a + b; }
};
struct OrWords : Words {
  static COHOM_HD Running merged(Running a, Value b) { return a | b; }
};
struct MaxOfHalves : Words {
  static COHOM_HD Running merged(Running a, Value b) {
    constexpr Word high = 0xffffffff00000000u;
    const Word upper = (a & high) > (b & high) ? a & high : b & high;
    const Word lower = (a & ~high) > (b & ~high) ? a & ~high : b & ~high;
    return upper | lower;
  }
};
/// All parts of a word at once. Where the highest bits of two parts differ, a's tells which part is
/// larger; else the other bits do, which are subtracted below a bit that no borrow passes.
template <unsigned bits>
struct MaxOfParts : Words {
  static COHOM_HD Running merged(Running a, Value b) {
    constexpr Word ones = ~Word{0} / ((Word{1} << bits) - 1);  // the lowest bit of each part
    constexpr Word highest = ones << (bits - 1);
    const Word differ = a ^ b;
    const Word rest = (a | highest) - (b & ~highest);
    const Word not_less = (rest ^ (differ & (rest ^ a))) & highest;
    const Word of_a = not_less | (not_less - (not_less >> (bits - 1)));
    return b ^ (differ & of_a);
  }
};
template <class T>
struct AddElements {
  using Value = T;
  using Running = Arithmetic<T>;
  static COHOM_HD Running begin(Value value) { return body::to_arithmetic(value); }
  static COHOM_HD Running merged(Running a, Value b) {
    return body::to_arithmetic(body::from_arithmetic<T>(a + body::to_arithmetic(b)));
  }
  static COHOM_HD Value end(Running sum) { return body::from_arithmetic<T>(body::canonical(sum)); }
};

/// Few pointers travel with the kernel, many lie in device memory.
struct SourceList {
  static constexpr std::size_t max_near = 16;
  std::size_t count;
  const void* near[max_near] = {};
  const void* const* far = nullptr;

  [[nodiscard]] COHOM_HD const void* operator[](std::size_t i) const {
    return count <= max_near ? near[i] : far[i];
  }
};

template <class Operation>
struct MergeKernel {
  using Value = typename Operation::Value;
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 1;
  static constexpr unsigned packs = 4;  ///< of a thread in a tile
  static constexpr std::size_t tile_packs = std::size_t{threads} * packs;
  static constexpr std::size_t tile_values = tile_packs * Pack<Value>::size;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  SourceList sources;
  std::size_t values;
  Value* destination;
  bool packed;  ///< all addresses are those of packs

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t first = at.tile * tile_values;
    if (packed && first + tile_values <= values)
      merge_packs(at.tile * tile_packs + at.thread);
    else
      for (std::size_t i = at.thread; i < tile_values && first + i < values; i += threads)
        merge_one(first + i);
  }

  COHOM_HD void merge_packs(std::size_t first) const {
    typename Operation::Running sums[packs][Pack<Value>::size];
    Pack<Value> read[packs];
    read_packs(0, first, read);
    COHOM_UNROLL
    for (unsigned p = 0; p < packs; ++p) {
      COHOM_UNROLL
      for (std::size_t i = 0; i < Pack<Value>::size; ++i)
        sums[p][i] = Operation::begin(read[p].values[i]);
    }
    for (std::size_t s = 1; s < sources.count; ++s) {
      read_packs(s, first, read);
      COHOM_UNROLL
      for (unsigned p = 0; p < packs; ++p) {
        COHOM_UNROLL
        for (std::size_t i = 0; i < Pack<Value>::size; ++i)
          sums[p][i] = Operation::merged(sums[p][i], read[p].values[i]);
      }
    }
    auto* const to = reinterpret_cast<Pack<Value>*>(destination) + first;
    COHOM_UNROLL
    for (unsigned p = 0; p < packs; ++p) {
      COHOM_UNROLL
      for (std::size_t i = 0; i < Pack<Value>::size; ++i)
        read[p].values[i] = Operation::end(sums[p][i]);
      to[std::size_t{p} * threads] = read[p];
    }
  }

  COHOM_HD void read_packs(std::size_t s, std::size_t first, Pack<Value> (&read)[packs]) const {
    const auto* const source = static_cast<const Pack<Value>*>(sources[s]) + first;
    COHOM_UNROLL
    for (unsigned p = 0; p < packs; ++p) read[p] = source[std::size_t{p} * threads];
  }

  COHOM_HD void merge_one(std::size_t i) const {
    auto sum = Operation::begin(static_cast<const Value*>(sources[0])[i]);
    for (std::size_t s = 1; s < sources.count; ++s)
      sum = Operation::merged(sum, static_cast<const Value*>(sources[s])[i]);
    destination[i] = Operation::end(sum);
  }
};

template <class Operation>
void merge_by(const void* const* sources, std::size_t source_count, std::size_t bytes,
              void* destination) {
  using Value = typename Operation::Value;
  DeviceContext& context = begin_call();
  const std::size_t values = bytes / sizeof(Value);
  if (values == 0) return;
  expect_aligned(destination, sizeof(Value), "the destination of a merge");
  bool packed = aligned_to(destination, 16);
  std::vector<const void*> views;
  views.reserve(source_count);
  for (std::size_t s = 0; s < source_count; ++s) {
    expect_aligned(sources[s], sizeof(Value), "a source of a merge");
    packed &= aligned_to(sources[s], 16);
    views.push_back(view(sources[s]));
  }
  using Kernel = MergeKernel<Operation>;
  Kernel kernel{.tiles = tiles_of(values, Kernel::tile_values),
                .sources = {.count = source_count},
                .values = values,
                .destination = view(static_cast<Value*>(destination)),
                .packed = packed};
  if (source_count <= SourceList::max_near)
    std::ranges::copy(views, kernel.sources.near);
  else
    kernel.sources.far = view(static_cast<const void* const*>(
        context.upload(views.data(), views.size() * sizeof(void*))));
  launch(kernel);
}

template <class T>
struct FinishKernel {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 1;
  static constexpr unsigned packs = sizeof(T) == 8 ? 1 : 4;  ///< f64 divides in a function
  static constexpr std::size_t tile_packs = std::size_t{threads} * packs;
  static constexpr std::size_t tile_values = tile_packs * Pack<T>::size;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  const T* source;
  std::size_t elements;
  Divider<Arithmetic<T>> divided;
  T* destination;
  bool packed;

  [[nodiscard]] COHOM_HD T finished(T element) const {
    return body::from_arithmetic<T>(body::canonical(divided(body::to_arithmetic(element))));
  }

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t first = at.tile * tile_values;
    if (packed && first + tile_values <= elements) {
      const std::size_t pack = at.tile * tile_packs + at.thread;
      Pack<T> read[packs];
      COHOM_UNROLL
      for (unsigned p = 0; p < packs; ++p)
        read[p] = reinterpret_cast<const Pack<T>*>(source)[pack + std::size_t{p} * threads];
      COHOM_UNROLL
      for (unsigned p = 0; p < packs; ++p) {
        COHOM_UNROLL
        for (std::size_t i = 0; i < Pack<T>::size; ++i)
          read[p].values[i] = finished(read[p].values[i]);
        reinterpret_cast<Pack<T>*>(destination)[pack + std::size_t{p} * threads] = read[p];
      }
      return;
    }
    for (std::size_t i = at.thread; i < tile_values && first + i < elements; i += threads)
      destination[first + i] = finished(source[first + i]);
  }
};

}  // namespace

void merge(Merge merge, const void* const* sources, std::size_t source_count, std::size_t bytes,
           void* destination) {
  switch (merge.kind) {
    case MergeKind::add: return merge_by<AddWords>(sources, source_count, bytes, destination);
    case MergeKind::bit_or: return merge_by<OrWords>(sources, source_count, bytes, destination);
    case MergeKind::max: return merge_by<MaxOfHalves>(sources, source_count, bytes, destination);
    case MergeKind::max8: return merge_by<MaxOfParts<8>>(sources, source_count, bytes, destination);
    case MergeKind::max16:
      return merge_by<MaxOfParts<16>>(sources, source_count, bytes, destination);
    case MergeKind::add_float:
      return body::with_element_type(merge.type, [&]<class T>(T) {
        merge_by<AddElements<T>>(sources, source_count, bytes, destination);
      });
    case MergeKind::add_packed: break;  // its own kernel: the length varies
  }
}

void finish_elements(ElementType type, const void* source, std::size_t elements,
                     std::uint64_t divisor, void* destination) {
  begin_call();
  if (elements == 0) return;
  expect_aligned(source, size_of(type), "elements to finish");
  expect_aligned(destination, size_of(type), "the place of finished elements");
  body::with_element_type(type, [&]<class T>(T) {
    using Kernel = FinishKernel<T>;
    launch(Kernel{.tiles = tiles_of(elements, Kernel::tile_values),
                  .source = view(static_cast<const T*>(source)),
                  .elements = elements,
                  .divided = Divider<Arithmetic<T>>(divisor),
                  .destination = view(static_cast<T*>(destination)),
                  .packed = aligned_to(source, 16) && aligned_to(destination, 16)});
  });
}

}  // namespace cohom::kernels::device
