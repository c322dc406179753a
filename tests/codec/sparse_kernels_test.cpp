// sparse: every instruction set and device gives the bits of the scalar reference, and stays inside
// its buffers.

#include "elements.hpp"
#include "fenced_words.hpp"
#include "guarded_buffer.hpp"
#include "kernels/sparse/cpu/sparse_rows.hpp"
#include "kernels/table/kernel_table.hpp"
#include "same_bytes.hpp"
#include "tested_tables.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using kernels::bitmap_words;
using kernels::SparseKernels;
using kernels::SparseRun;
using Words = std::vector<std::uint64_t>;

constexpr std::size_t all_counts[] = {0,   1,   15,  16,  31,   63,   64,   65,        127,
                                      128, 511, 512, 513, 1000, 1536, 5000, 8192 + 77, 40000};
constexpr double all_densities[] = {0, 0.0005, 0.02, 0.3, 0.9, 1};

SparseKernels reference() { return kernels::scalar_sparse(); }

/// Elements of random bits, a part of them zero; dense and empty stretches take turns.
Bytes random_elements(const SparseRun& run, double density, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Bytes bytes(run.count * run.element_bytes);
  for (std::size_t i = 0; i < run.count; ++i) {
    const bool stretch = i / 600 % 4 == 3;
    if (static_cast<double>(engine() >> 11) * 0x1p-53 >= (stretch ? 0 : density)) continue;
    // One bit anywhere is enough to be a value.
    const std::size_t bit = engine() % (8 * run.element_bytes);
    bytes[i * run.element_bytes + bit / 8] = std::byte{1} << bit % 8;
  }
  return bytes;
}

Words bitmap_of(const SparseRun& run, const Bytes& elements) {
  Words bitmap(bitmap_words(run.count));
  reference().scan(run, elements.data(), bitmap.data());
  return bitmap;
}

std::string describe(const SparseRun& run, double density) {
  return std::to_string(run.count) + " elements of " + std::to_string(run.element_bytes) +
         " bytes, density " + std::to_string(density);
}

/// Calls visit(run, elements, density) for all sizes and densities.
template <class Visit>
void for_each_case(Visit visit) {
  std::uint64_t seed = 1;
  for (const std::size_t bytes : {2, 4, 8})
    for (const std::size_t count : all_counts)
      for (const double density : all_densities) {
        const SparseRun run{bytes, 0, count};
        SCOPED_TRACE(describe(run, density));
        visit(run, random_elements(run, density, seed++));
      }
}

TEST(SparseReference, ScanSaysWhichElementsHaveABit) {
  for_each_case([](const SparseRun& run, const Bytes& elements) {
    const Words bitmap = bitmap_of(run, elements);
    for (std::size_t i = 0; i < 64 * bitmap.size(); ++i) {
      bool any = false;
      for (std::size_t k = 0; i < run.count && k < run.element_bytes; ++k)
        any |= elements[i * run.element_bytes + k] != std::byte{0};
      ASSERT_EQ(bitmap[i / 64] >> i % 64 & 1, any) << "element " << i;
    }
  });
}

TEST(SparseReference, ExpandUndoesCompact) {
  for_each_case([](const SparseRun& run, const Bytes& elements) {
    const Words bitmap = bitmap_of(run, elements);
    Bytes compacted(elements.size()), expanded(elements.size(), std::byte{0xa5});
    reference().compact(run, elements.data(), bitmap.data(), compacted.data());
    reference().expand(run, compacted.data(), bitmap.data(), expanded.data());
    ASSERT_TRUE(same_bytes(expanded, elements));
    std::size_t selected = 0;
    for (std::size_t i = 0; i < run.count; ++i) selected += bitmap[i / 64] >> i % 64 & 1;
    ASSERT_EQ(reference().count_bits(bitmap.data(), bitmap.size()), selected);
  });
}

class SparseEquality : public testing::TestWithParam<TestedTable> {
 protected:
  const SparseKernels& tested = GetParam().table->sparse;
};

/// From addresses of many elements at once, and from others.
TEST_P(SparseEquality, Scan) {
  for_each_case([&](const SparseRun& run, const Bytes& elements) {
    const Words expected = bitmap_of(run, elements);
    for (const std::size_t offset : {std::size_t{0}, run.element_bytes}) {
      GuardedBuffer input(elements.size(), offset);
      input.fill(elements);
      FencedWords found(expected.size());
      tested.scan(run, input.data(), found.data());
      ASSERT_EQ(Words(found.words().begin(), found.words().end()), expected)
          << "from " << offset << " bytes on";
      ASSERT_EQ(tested.count_bits(found.data(), expected.size()),
                reference().count_bits(expected.data(), expected.size()));
    }
  });
}

TEST_P(SparseEquality, Compact) {
  for_each_case([&](const SparseRun& run, const Bytes& elements) {
    GuardedBuffer input(elements.size(), 3 * run.element_bytes);
    input.fill(elements);
    const Words bitmap = bitmap_of(run, elements);
    const FencedWords fenced(bitmap);
    const std::size_t used =
        reference().count_bits(bitmap.data(), bitmap.size()) * run.element_bytes;
    Bytes expected(elements.size());
    GuardedBuffer found(elements.size(), run.element_bytes);
    reference().compact(run, elements.data(), bitmap.data(), expected.data());
    tested.compact(run, input.data(), fenced.data(), found.data());
    ASSERT_TRUE(same_bytes(found.bytes().first(used), std::span(expected).first(used)));
    ASSERT_TRUE(found.fences_intact());
  });
}

/// Short vectors, and the far end of a long one, which goes around the caches where it is aligned.
TEST_P(SparseEquality, Expand) {
  for_each_case([&](const SparseRun& from, const Bytes& elements) {
    const Words bitmap = bitmap_of(from, elements);
    const std::size_t values = reference().count_bits(bitmap.data(), bitmap.size());
    Bytes compacted(elements.size());
    reference().compact(from, elements.data(), bitmap.data(), compacted.data());
    const std::size_t used = values * from.element_bytes;
    // The values end where memory ends.
    FencedWords fenced((used + 7) / 8);
    std::byte* const start =
        reinterpret_cast<std::byte*>(fenced.data()) + ((used + 7) / 8 * 8 - used);
    std::copy_n(compacted.begin(), used, start);
    for (const bool far : {false, true}) {
      SparseRun run = from;
      if (far) run.first = (std::size_t{256} << 20) / run.element_bytes;
      GuardedBuffer found(elements.size(), far ? 0 : run.element_bytes);
      tested.expand(run, start, bitmap.data(), found.data());
      ASSERT_TRUE(same_bytes(found.bytes(), elements));
      ASSERT_TRUE(found.fences_intact());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Tables, SparseEquality, testing::ValuesIn(tables_beside_reference()),
                         table_name);

}  // namespace
}  // namespace cohom::test
