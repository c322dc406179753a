#include "kernels/sparse/cpu/sparse_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cohom::kernels {
namespace {

template <class T>
T load(const void* elements, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(elements) + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void store(void* elements, std::size_t index, T value) {
  std::memcpy(static_cast<char*>(elements) + index * sizeof(T), &value, sizeof(T));
}

/// Calls visitor(T{}) with the unsigned integer of so many bytes.
template <class Visitor>
void with_bits_type(std::size_t element_bytes, Visitor&& visitor) {
  switch (element_bytes) {
    case 2: return visitor(std::uint16_t{});
    case 8: return visitor(std::uint64_t{});
    default: return visitor(std::uint32_t{});
  }
}

/// Calls visit(i) for every bit that is set.
template <class Visit>
void for_each_bit(const std::uint64_t* bitmap, std::size_t count, Visit&& visit) {
  for (std::size_t first = 0; first < count; first += 64)
    for (std::uint64_t left = bitmap[first / 64]; left != 0; left &= left - 1)
      visit(first + static_cast<std::size_t>(std::countr_zero(left)));
}

void scan(const SparseRun& run, const void* elements, std::uint64_t* bitmap) {
  with_bits_type(run.element_bytes, [&]<class T>(T) {
    for (std::size_t first = 0; first < run.count; first += 64) {
      std::uint64_t bits = 0;
      const std::size_t end = std::min<std::size_t>(64, run.count - first);
      for (std::size_t i = 0; i < end; ++i)
        bits |= std::uint64_t{load<T>(elements, first + i) != 0} << i;
      bitmap[first / 64] = bits;
    }
  });
}

std::size_t count_bits(const std::uint64_t* words, std::size_t count) {
  std::size_t bits = 0;
  for (std::size_t i = 0; i < count; ++i) bits += static_cast<std::size_t>(std::popcount(words[i]));
  return bits;
}

void compact(const SparseRun& run, const void* elements, const std::uint64_t* bitmap,
             void* compacted) {
  with_bits_type(run.element_bytes, [&]<class T>(T) {
    std::size_t next = 0;
    for_each_bit(bitmap, run.count,
                 [&](std::size_t i) { store(compacted, next++, load<T>(elements, i)); });
  });
}

void expand(const SparseRun& run, const void* compacted, const std::uint64_t* bitmap,
            void* elements) {
  if (run.count == 0) return;
  std::memset(elements, 0, run.count * run.element_bytes);
  with_bits_type(run.element_bytes, [&]<class T>(T) {
    std::size_t next = 0;
    for_each_bit(bitmap, run.count,
                 [&](std::size_t i) { store(elements, i, load<T>(compacted, next++)); });
  });
}

}  // namespace

SparseKernels scalar_sparse() { return {scan, count_bits, compact, expand}; }

}  // namespace cohom::kernels
