// Merging words and elements, any number of sources in one pass.
//
// Several sources at once matter: the running sum stays in registers, so an owner that adds eight
// contributions reads each once and writes once. What is left over after whole vectors goes to the
// reference.

#include "kernels/core/cpu/highway_targets.hpp"
#include "kernels/merge/cpu/merge_rows.hpp"

#if COHOM_HIGHWAY_TARGETS

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/merge/cpu/merge_hwy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/merge/cpu/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

using Sources = const void* const*;

struct AddWords {
  using Lane = std::uint64_t;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};

struct OrWords {
  using Lane = std::uint64_t;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Or(a, b);
  }
};

template <class Part>
struct MaxParts {
  using Lane = Part;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Max(a, b);
  }
};

/// Merges whole groups of four vectors; returns the bytes done. All sources of a group are read
/// before it is written, so any of them may be the destination.
template <class Operation>
std::size_t merge_vectors(Sources sources, std::size_t source_count, std::size_t bytes,
                          void* destination, Operation operation) {
  using Lane = typename Operation::Lane;
  const hn::ScalableTag<Lane> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t group = 4 * lanes;
  const std::size_t end = bytes / sizeof(Lane) / group * group;
  for (std::size_t i = 0; i < end; i += group) {
    const Lane* source = element_at<Lane>(sources[0], i);
    auto v0 = hn::LoadU(d, source);
    auto v1 = hn::LoadU(d, source + lanes);
    auto v2 = hn::LoadU(d, source + 2 * lanes);
    auto v3 = hn::LoadU(d, source + 3 * lanes);
    for (std::size_t s = 1; s < source_count; ++s) {
      source = element_at<Lane>(sources[s], i);
      v0 = operation(v0, hn::LoadU(d, source));
      v1 = operation(v1, hn::LoadU(d, source + lanes));
      v2 = operation(v2, hn::LoadU(d, source + 2 * lanes));
      v3 = operation(v3, hn::LoadU(d, source + 3 * lanes));
    }
    Lane* out = element_at<Lane>(destination, i);
    hn::StoreU(v0, d, out);
    hn::StoreU(v1, d, out + lanes);
    hn::StoreU(v2, d, out + 2 * lanes);
    hn::StoreU(v3, d, out + 3 * lanes);
  }
  return end * sizeof(Lane);
}

/// Likewise for elements: left to right, one rounding a merge.
template <class T>
std::size_t add_vectors(Sources sources, std::size_t source_count, std::size_t bytes,
                        void* destination) {
  using Type = Elements<T>;
  const hn::ScalableTag<typename Type::Real> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t end = bytes / sizeof(T) / (2 * lanes) * (2 * lanes);
  for (std::size_t i = 0; i < end; i += 2 * lanes) {
    auto v0 = Type::load(d, sources[0], i);
    auto v1 = Type::load(d, sources[0], i + lanes);
    for (std::size_t s = 1; s < source_count; ++s) {
      v0 = hn::Add(v0, Type::load(d, sources[s], i));
      v1 = hn::Add(v1, Type::load(d, sources[s], i + lanes));
      if (s + 1 == source_count) break;  // the last sum is rounded when it is stored
      v0 = Type::rounded(d, v0);
      v1 = Type::rounded(d, v1);
    }
    Type::store_canonical(d, v0, destination, i);
    Type::store_canonical(d, v1, destination, i + lanes);
  }
  return end * sizeof(T);
}

std::size_t merge_whole_vectors(Merge merge, Sources sources, std::size_t source_count,
                                std::size_t bytes, void* destination) {
  switch (merge.kind) {
    case MergeKind::add:
      return merge_vectors(sources, source_count, bytes, destination, AddWords());
    case MergeKind::bit_or:
      return merge_vectors(sources, source_count, bytes, destination, OrWords());
    case MergeKind::max:
      return merge_vectors(sources, source_count, bytes, destination, MaxParts<std::uint32_t>());
    case MergeKind::max8:
      return merge_vectors(sources, source_count, bytes, destination, MaxParts<std::uint8_t>());
    case MergeKind::max16:
      return merge_vectors(sources, source_count, bytes, destination, MaxParts<std::uint16_t>());
    case MergeKind::add_float: break;
    case MergeKind::add_packed: return bytes;  // its own kernel: the length varies
  }
  switch (merge.type) {
    case ElementType::f64: return add_vectors<double>(sources, source_count, bytes, destination);
    case ElementType::f16: return add_vectors<float16>(sources, source_count, bytes, destination);
    case ElementType::bf16: return add_vectors<bfloat16>(sources, source_count, bytes, destination);
    case ElementType::f32: break;
  }
  return add_vectors<float>(sources, source_count, bytes, destination);
}

/// The rest, shorter than a group of vectors. Merging pair by pair gives the same bits, because the
/// running sum is rounded to an element at every merge.
void merge_rest(Merge merge, Sources sources, std::size_t source_count, std::size_t done,
                std::size_t bytes, void* destination) {
  char sum[4 * HWY_MAX_BYTES];
  const auto rest_of = [&](std::size_t s) { return static_cast<const char*>(sources[s]) + done; };
  const void* first = rest_of(0);
  scalar_merge(merge, &first, 1, bytes - done, sum);
  for (std::size_t s = 1; s < source_count; ++s) {
    const void* pair[] = {sum, rest_of(s)};
    scalar_merge(merge, pair, 2, bytes - done, sum);
  }
  std::memcpy(static_cast<char*>(destination) + done, sum, bytes - done);
}

void merge(Merge merge, Sources sources, std::size_t source_count, std::size_t bytes,
           void* destination) {
  const std::size_t done = merge_whole_vectors(merge, sources, source_count, bytes, destination);
  if (done < bytes) merge_rest(merge, sources, source_count, done, bytes, destination);
}

template <class T>
void finish(const void* source, std::size_t elements, std::uint64_t divisor, void* destination) {
  using Type = Elements<T>;
  const hn::ScalableTag<typename Type::Real> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto by = hn::Set(d, static_cast<typename Type::Real>(divisor));
  const std::size_t end = elements / lanes * lanes;
  for (std::size_t i = 0; i < end; i += lanes) {
    auto v = Type::load(d, source, i);
    if (divisor > 1) v = hn::Div(v, by);
    Type::store_canonical(d, v, destination, i);
  }
  scalar_finish_elements(element_type_v<T>, element_at<T>(source, end), elements - end, divisor,
                         element_at<T>(destination, end));
}

void finish_elements(ElementType type, const void* source, std::size_t elements,
                     std::uint64_t divisor, void* destination) {
  switch (type) {
    case ElementType::f64: return finish<double>(source, elements, divisor, destination);
    case ElementType::f16: return finish<float16>(source, elements, divisor, destination);
    case ElementType::bf16: return finish<bfloat16>(source, elements, divisor, destination);
    case ElementType::f32: break;
  }
  finish<float>(source, elements, divisor, destination);
}

MergeKernels merge_row() { return {merge, finish_elements, widen}; }

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

MergeKernels highway_merge(Isa isa) { return COHOM_ROW_OF(isa, merge_row); }

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
MergeKernels highway_merge(Isa) { return {}; }
}  // namespace cohom::kernels

#endif
