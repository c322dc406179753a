// Sketches of integers: every instruction set and device gives the bits of the scalar reference,
// cell by cell and item by item, whether all of a sketch peels or next to nothing.

#include "elements.hpp"
#include "kernels/sketch/sketch_workspace.hpp"
#include "kernels/table/kernel_table.hpp"
#include "tested_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using kernels::KernelTable;
using kernels::SketchFormat;
using kernels::SketchKernels;
using kernels::SketchPart;
using kernels::SketchPlace;
using kernels::SketchRun;
using kernels::SketchWorkspace;
using kernels::body::SketchHeld;
using kernels::body::SketchLargest;
using Words = std::vector<std::uint64_t>;

constexpr ElementType types[] = {ElementType::f32, ElementType::f16, ElementType::bf16};
constexpr ElementType all_types[] = {ElementType::f32, ElementType::f16, ElementType::bf16,
                                     ElementType::f64};

/// Parts of so many items, those below 256 plain; the cells of each are a share of its items.
std::vector<SketchPart> parts_of(const std::vector<std::size_t>& sizes, double share) {
  std::vector<SketchPart> parts;
  SketchPart next;
  for (const std::size_t items : sizes) {
    next.items = items;
    next.plain = items < 256;
    next.shape = {.row = std::uint32_t(share * double(items) / 3) + 1, .key = 77 + parts.size()};
    parts.push_back(next);
    next.first += items;
    next.first_cell += next.cells();
    next.first_name += 5 * std::uint32_t(items);
  }
  return parts;
}

/// A table's, reserved for no more than the parts of a run need.
SketchWorkspace workspace_for(const KernelTable& table, const SketchRun& run) {
  std::size_t items = 0, cells = 0;
  for (const SketchPart& part : run.parts)
    if (!part.plain) {
      items = std::max(items, part.items);
      cells = std::max(cells, part.cells());
    }
  SketchWorkspace workspace(table.placing);
  workspace.reserve(items, cells);
  return workspace;
}

/// What a table makes of a run.
struct Outcome {
  Words cells;
  std::size_t left;
  std::vector<std::uint8_t> known;
  Bytes elements;

  Outcome(const KernelTable& table, SketchRun run, const Bytes& from)
      : cells(run.cells() + 1, 0x77),  // whatever is there before, and nothing behind
        known(run.items() + 1, 0x77),
        elements(from.size() + 1, std::byte{0x77}) {
    SketchWorkspace workspace = workspace_for(table, run);
    run.workspace = &workspace;
    table.sketch.insert(run, from.data(), cells.data());
    left = table.sketch.peel(run, cells.data(), known.data(), elements.data());
  }
};

/// What a table's kernels measure of each block, and nothing behind the last one.
template <class Body>
std::vector<typename Body::Found> measured(const KernelTable& table,
                                           const typename Body::Settings& settings,
                                           ElementType type, const Bytes& elements,
                                           std::size_t count) {
  const std::size_t blocks = (count + Body::block - 1) / Body::block;
  std::vector<typename Body::Found> found(blocks + 1, 77);
  table.blocks.template of<Body>().measure(settings, {type, count}, elements.data(), found.data());
  EXPECT_EQ(found.back(), 77);
  found.pop_back();
  return found;
}

class SketchTable : public testing::TestWithParam<TestedTable> {
 protected:
  const KernelTable& table_ = *GetParam().table;
  const KernelTable& scalar_ = kernels::kernel_table(kernels::Isa::scalar);
  const SketchKernels& kernels_ = table_.sketch;
  const SketchKernels& reference_ = scalar_.sketch;

  void expect_the_references(const SketchRun& run, const Bytes& from, const std::string& what) {
    const Outcome found(table_, run, from), expected(scalar_, run, from);
    EXPECT_TRUE(found.cells == expected.cells) << what;
    EXPECT_EQ(found.left, expected.left) << what;
    EXPECT_TRUE(found.known == expected.known) << what;
    EXPECT_TRUE(found.elements == expected.elements) << what;
    EXPECT_EQ(std::count(found.known.begin(), found.known.end() - 1, 0), std::ptrdiff_t(found.left))
        << what;
  }
};

TEST_P(SketchTable, PeelsWhatTheReferencePeels) {
  const std::vector<std::vector<std::size_t>> all_sizes = {
      {}, {0}, {1}, {255}, {256}, {257, 0, 0, 300}, {8192, 9001, 8199}, {3, 5000, 100, 0, 16383}};
  for (const auto& sizes : all_sizes)
    for (const double share : {0.5, 1.1, 1.22, 1.3, 3.0})
      for (const ElementType type : types) {
        const auto parts = parts_of(sizes, share);
        SketchRun run{{type, {5, 3}}, parts};
        std::vector<double> values = normal_values(run.items(), 3);
        for (std::size_t i = 0; i < values.size(); i += 3) values[i] = 0;  // another rank's
        expect_the_references(run, to_bytes(type, values),
                              std::to_string(sizes.size()) + " parts, " + std::to_string(share) +
                                  " cells an item, " + std::string(name_of(type)));
      }
}

/// Names that are no numbers: positions of the union, counted from the run's first element on.
TEST_P(SketchTable, TakesNames) {
  for (const double share : {1.0, 1.3}) {
    const auto parts = parts_of({400, 0, 3000, 257}, share);
    SketchRun run{{ElementType::f32, {3, 2}}, parts};
    std::vector<std::uint32_t> names(run.items());
    for (const SketchPart& part : parts)
      for (std::size_t i = 0; i < part.items; ++i)
        names[part.first + i] = part.first_name + std::uint32_t(5 * i);
    const Bytes from = to_bytes(ElementType::f32, normal_values(run.items(), 8));
    const Outcome by_number(table_, run, from);
    run.names = names.data();
    expect_the_references(run, from, std::to_string(share));
    EXPECT_FALSE(Outcome(table_, run, from).cells == by_number.cells);
  }
}

/// Sums of several ranks that wrap on the way, too: a known item is its exact sum, rounded once.
TEST_P(SketchTable, KnownItemsAreExactSums) {
  constexpr std::size_t items = 9000;
  for (const double share : {0.9, 1.3}) {
    const auto parts = parts_of({items}, share);
    SketchRun run{{ElementType::f32, {1, 2}}, parts};
    SketchWorkspace workspace = workspace_for(table_, run);
    run.workspace = &workspace;
    Words sum(run.cells()), cells(run.cells());
    std::vector<double> exact(items);
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      std::vector<double> values(items, 2 - 0x1p-23);
      for (std::size_t i = 0; i < items; ++i) values[i] = i % 7 == rank ? -0x1p-20 : values[i];
      kernels_.insert(run, to_bytes(ElementType::f32, values).data(), cells.data());
      for (std::size_t c = 0; c < cells.size(); ++c) sum[c] += cells[c];
      for (std::size_t i = 0; i < items; ++i) exact[i] += values[i];
    }
    std::vector<std::uint8_t> known(items);
    Bytes elements(4 * items);
    const std::size_t left = kernels_.peel(run, sum.data(), known.data(), elements.data());
    EXPECT_EQ(left == 0, share > 1.2) << share;
    const auto found = to_values(ElementType::f32, elements);
    for (std::size_t i = 0; i < items; ++i)
      if (known[i] != 0) ASSERT_EQ(found[i], double(float(exact[i]))) << i;
  }
}

/// Which items are left is a matter of their cells alone: those that share each of theirs with
/// another one that is left.
TEST_P(SketchTable, WhatIsLeftSharesAllItsCells) {
  const auto parts = parts_of({8192}, 1.15);
  const SketchRun run{{ElementType::f32, {3, 1}}, parts};
  const Outcome found(table_, run, to_bytes(ElementType::f32, normal_values(8192, 4)));
  ASSERT_GT(found.left, 100u);
  std::map<std::uint32_t, int> left_in;
  for (std::uint32_t i = 0; i < 8192; ++i)
    for (std::uint32_t r = 0; r < 3; ++r)
      if (found.known[i] == 0) ++left_in[SketchPlace(parts[0].shape, i).cell(r)];
  for (const auto& [cell, items] : left_in) EXPECT_GE(items, 2) << cell;
}

TEST_P(SketchTable, ElementsThatCannotBeHeld) {
  const double odd[] = {std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity(), 0x1p-50, -0x1.fcp-48, -0.0};
  // No codec asks for f64, but the driver makes that form, too.
  for (const ElementType type : all_types)
    for (const std::size_t count : {1, 255, 256, 257, 16384, 16385, 40001}) {
      std::vector<double> values = normal_values(count, count);
      for (std::size_t i = 0, k = 0; i < count; i += 300, ++k) values[i] = odd[k % std::size(odd)];
      const Bytes bytes = to_bytes(type, values);
      const SketchHeld::Settings numbers({12, 5});
      const std::vector found = measured<SketchHeld>(table_, numbers, type, bytes, count);
      EXPECT_EQ(found, measured<SketchHeld>(scalar_, numbers, type, bytes, count))
          << name_of(type) << " " << count;
      EXPECT_EQ(found[0], 0) << "a NaN";
      EXPECT_EQ(measured<SketchLargest>(table_, {}, type, bytes, count),
                measured<SketchLargest>(scalar_, {}, type, bytes, count));
    }
}

TEST_P(SketchTable, LargestIsFinite) {
  constexpr std::size_t count = 33000;
  for (const std::size_t at : {0, 1, 16383, 16384, 32999}) {
    std::vector<double> values(count, 0.25);
    values[at] = -77;
    values[(at + 500) % count] = std::numeric_limits<double>::infinity();
    values[(at + 900) % count] = std::numeric_limits<double>::quiet_NaN();
    const Bytes bytes = to_bytes(ElementType::f32, values);
    EXPECT_EQ(std::ranges::max(measured<SketchLargest>(table_, {}, ElementType::f32, bytes, count)),
              kernels::body::bits_of(77.0f));
  }
  const Bytes zeros(2 * count);
  EXPECT_EQ(std::ranges::max(measured<SketchLargest>(table_, {}, ElementType::bf16, zeros, count)),
            0u);
}

TEST_P(SketchTable, MovesWhatIsLeft) {
  for (const std::size_t size : {2, 4, 8}) {
    Bytes elements(size * 1000), gathered(size * 10), back(size * 1000), own(size * 10);
    std::vector<std::size_t> positions;
    std::vector<std::uint8_t> known;
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = std::byte(i * 37 % 251);
    for (std::size_t i = 0; i < 10; ++i) {
      positions.push_back((i * 373 + 999) % 1000);
      known.push_back(i % 3 == 0);
    }
    kernels_.gather(size, elements.data(), positions.data(), 10, gathered.data());
    kernels_.scatter(size, gathered.data(), positions.data(), 10, back.data());
    kernels_.keep_unknown(size, known.data(), 10, gathered.data(), own.data());
    for (std::size_t i = 0; i < 10; ++i)
      for (std::size_t b = 0; b < size; ++b) {
        const std::byte element = elements[positions[i] * size + b];
        EXPECT_EQ(gathered[i * size + b], element);
        EXPECT_EQ(back[positions[i] * size + b], element);
        EXPECT_EQ(own[i * size + b], known[i] != 0 ? std::byte{} : element);
      }
    EXPECT_GE(std::ranges::count(back, std::byte{}), std::ptrdiff_t(size * 990)) << "others";
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, SketchTable, testing::ValuesIn(tested_tables()), table_name);

}  // namespace
}  // namespace cohom::test
