// Every instruction set and device gives the bits of the scalar reference, in every kernel.

#include "elements.hpp"
#include "guarded_buffer.hpp"
#include "kernels/merge/cpu/merge_rows.hpp"
#include "kernels/table/kernel_table.hpp"
#include "same_bytes.hpp"
#include "tested_tables.hpp"
#include "thc_comparison.hpp"
#include "thoroughness.hpp"
#include "word_merges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

using kernels::Dither;

// ---- thc

struct ThcCase {
  std::string name;
  std::uint32_t ranks;
  ThcOptions options;
  std::uint64_t seed = 1;
};

/// Ranks, rotations, dithers, lanes and levels: each varied alone, and some together.
std::vector<ThcCase> thc_cases() {
  std::vector<ThcCase> all;
  const auto add = [&](std::string name, std::uint32_t ranks, const ThcOptions& options) {
    all.push_back({std::move(name), ranks, options, all.size() + 1});
  };
  for (const std::uint32_t ranks : {1, 2, 3, 4, 8})
    add(std::string("n") + std::to_string(ranks), ranks, {});
  add("n17", 17, {.lane = 12});
  for (const std::uint32_t rotation : {16, 64, 128, 512, 1024, 4096, 8192, 65536})
    add(std::string("rotation") + std::to_string(rotation), 4, {.rotation = rotation});
  add("nearest", 4, {.dither = Dither::nearest});
  add("independent", 4, {.dither = Dither::independent});
  for (const unsigned lane : {12u, 16u, 21u, 32u})
    for (const std::uint32_t rotation : {256, 1024})
      add(std::string("lane") + std::to_string(lane) + "_" + std::to_string(rotation), 3,
          {.lane = lane, .rotation = rotation});
  for (const unsigned bits : {1u, 2u, 3u, 5u, 6u, 7u, 8u}) {
    const std::uint32_t intervals = bits == 1 ? 1 : 2 * ((1u << bits) - 1);
    const std::string name = std::string("bits") + std::to_string(bits);
    add(name, 3, {.bits = bits, .intervals = intervals, .lane = 12});
    add(name + "_512", 3, {.bits = bits, .intervals = intervals, .lane = 16, .rotation = 512});
  }
  add("wide_gap", 3, {.bits = 1, .intervals = 30});
  add("tight_table", 3, {.intervals = 15});
  add("largest_small_table", 8, {.intervals = 31});
  add("clamped", 4, {.tail = 0.5});
  add("granularity40", 3, {.intervals = 40});
  add("granularity1000", 3, {.intervals = 1000, .lane = 12});
  for (const std::uint32_t intervals : {1, 7, 15, 16, 63, 127, 255})
    add(std::string("full") + std::to_string(intervals), 1,
        {.table = false, .intervals = intervals});
  add("full_1024", 4, {.table = false, .intervals = 63, .rotation = 1024});
  add("full_clamped", 4, {.table = false, .intervals = 63, .tail = 0.5});
  add("full_lane16", 1, {.table = false, .intervals = 65535, .lane = 16});
  for (const std::uint32_t intervals : {30u, 63u, 255u})  // 1024 ranks and more
    add(std::string("full") + std::to_string(intervals) + "_lane16", 3,
        {.table = false, .intervals = intervals, .lane = 16});
  for (const std::uint32_t intervals : {63u, 255u, 959u})
    add(std::string("full") + std::to_string(intervals) + "_lane21", 3,
        {.table = false, .intervals = intervals, .lane = 21});
  add("full_lane32", 3, {.table = false, .intervals = 65535, .lane = 32});
  return all;
}

void compare(const kernels::ThcKernels& tested, const ThcCase& from, ElementType type,
             std::size_t count) {
  const std::size_t misalignment = count % 3 * size_of(type);
  SCOPED_TRACE(std::string(name_of(type)) + ", " + std::to_string(count) + " elements, seed " +
               std::to_string(from.seed) + ", misaligned by " + std::to_string(misalignment));
  ThcComparison run(tested, from.options, from.ranks, type, count, misalignment, from.seed);
  run.measure(false);
  run.agree();
  for (const Form form : {Form::narrow, Form::wide}) run.encode(form, false);
  run.promote();
  for (const std::uint64_t divisor : {1, 7}) run.decode(divisor);
  run.decode(1, std::size_t{256} << 20);
  run.measure(true);
  run.agree();
  for (const Form form : {Form::narrow, Form::wide}) run.encode(form, true);
}

class ThcEquality : public testing::TestWithParam<std::tuple<TestedTable, ThcCase>> {};

TEST_P(ThcEquality, MatchesReference) {
  const auto& [tested, from] = GetParam();
  const std::size_t block = from.options.rotation;
  std::vector<std::size_t> counts = {block * 3, block + 19};
  if (block <= 1024) counts = {0, 1, 15, 16, 17, 255, 256, 257, 511, 4096 + 13, 40 * block};
  CaseShare share(3, 5);
  for (const ElementType type : all_element_types)
    for (const std::size_t count : counts)
      if (!share.skips_this()) compare(tested.table->thc, from, type, count);
}

TEST_P(ThcEquality, MatchesReferenceOfNoNumbers) {
  const auto& [tested, from] = GetParam();
  const std::size_t count = std::max<std::size_t>(from.options.rotation, 32 * 256);
  for (const ElementType type : all_element_types) {
    ThcComparison run(tested.table->thc, from.options, from.ranks, type, count, 0, from.seed);
    run.measure(false);
    run.understate();
    for (const Form form : {Form::narrow, Form::wide}) run.encode(form, false);
  }
}

std::string case_name(const testing::TestParamInfo<ThcEquality::ParamType>& instance) {
  const auto& [tested, from] = instance.param;
  return tested.name + "_" + from.name;
}

INSTANTIATE_TEST_SUITE_P(Tables, ThcEquality,
                         testing::Combine(testing::ValuesIn(tables_beside_reference()),
                                          testing::ValuesIn(thc_cases())),
                         case_name);

// ---- merge, finish_elements

class MergeEquality : public testing::TestWithParam<TestedTable> {};

/// Random bits: as floats, every kind of number and NaN.
Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(engine());
  return bytes;
}

/// The destination is a buffer of its own, or one of the sources.
void compare_merge(const TestedTable& tested, Merge merge, const std::vector<Bytes>& contents,
                   std::size_t target) {
  const std::size_t size = contents[0].size();
  SCOPED_TRACE(std::string(name_of(merge.kind)) + " " + std::string(name_of(merge.type)) + ", " +
               std::to_string(size) + " bytes, " + std::to_string(contents.size()) +
               " sources, into " + std::to_string(target));
  std::vector<Bytes> expected = contents;
  std::vector<GuardedBuffer> found;
  const std::size_t unit = merge.kind == MergeKind::add_float ? size_of(merge.type) : 8;
  for (std::size_t s = 0; s < contents.size(); ++s)
    found.emplace_back(size, s % 3 * unit).fill(contents[s]);
  expected.emplace_back(size);
  found.emplace_back(size, unit);
  std::vector<const void*> sources, unaligned_sources;
  for (std::size_t s = 0; s < contents.size(); ++s) {
    sources.push_back(expected[s].data());
    unaligned_sources.push_back(found[s].data());
  }
  kernels::scalar_merge(merge, sources.data(), sources.size(), size, expected[target].data());
  tested.table->merge(merge, unaligned_sources.data(), sources.size(), size, found[target].data());
  EXPECT_TRUE(same_bytes(found[target].bytes(), expected[target]));
  for (const GuardedBuffer& buffer : found) EXPECT_TRUE(buffer.fences_intact());
}

TEST_P(MergeEquality, AnySourcesAndSizes) {
  std::vector<Merge> merges;
  for (const MergeKind kind : word_merges) merges.push_back({kind});
  for (const ElementType type : all_element_types) merges.push_back({MergeKind::add_float, type});
  CaseShare share(3, 5);
  for (const Merge merge : merges)
    for (const std::size_t units : {0, 1, 2, 7, 8, 31, 32, 33, 63, 129, 1000})
      for (const std::size_t count : {1, 2, 3, 8, 17, 40}) {
        if (share.skips_this()) continue;
        const std::size_t size =
            units * (merge.kind == MergeKind::add_float ? size_of(merge.type) : 8);
        std::vector<Bytes> contents;
        for (std::size_t s = 0; s < count; ++s) contents.push_back(random_bytes(size, s + 1));
        for (const std::size_t target : {std::size_t{0}, count - 1, count})
          compare_merge(GetParam(), merge, contents, target);
      }
}

/// All 16-bit numbers alone, and each with 16 others: near ones, which cancel or double, and any.
TEST_P(MergeEquality, All16BitFloats) {
  std::vector<std::uint16_t> all(65536), others(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const auto bytes_of = [](const std::vector<std::uint16_t>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return Bytes(bytes.begin(), bytes.end());
  };
  std::mt19937_64 engine(1);
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    const Merge merge{MergeKind::add_float, type};
    compare_merge(GetParam(), merge, {bytes_of(all)}, 1);
    for (int round = 0; round < 16; round += takes_all_cases() ? 1 : 5) {
      for (std::size_t i = 0; i < all.size(); ++i)
        others[i] =
            static_cast<std::uint16_t>(round < 8 ? (i ^ 0x8000) + engine() % 4096 : engine());
      compare_merge(GetParam(), merge, {bytes_of(all), bytes_of(others)}, 2);
    }
  }
}

/// Values up to `most` in lanes, block by block, and packed.
struct LaneSums {
  LaneSums(const kernels::LaneBlocks& run, unsigned width, std::uint64_t most, unsigned seed) {
    std::mt19937_64 engine(seed);
    for (std::size_t b = 0; b < run.blocks + (run.rest == 0 ? 0 : 1); ++b) {
      std::vector<std::uint64_t> block(b < run.blocks ? run.values : run.rest);
      for (std::uint64_t& value : block)
        value = std::min(engine() & kernels::body::lane_mask(width), most);
      add(block, width);
    }
  }
  LaneSums() = default;
  void add(const std::vector<std::uint64_t>& block, unsigned width) {
    values.push_back(block);
    const std::size_t first = words.size();
    words.resize(first + kernels::body::words_per_block(block.size(), width));
    kernels::body::pack_lanes(block.data(), block.size(), width, words.data() + first);
  }

  std::vector<std::vector<std::uint64_t>> values;
  std::vector<std::uint64_t> words;
};

void expect_widened(const TestedTable& tested, std::span<const unsigned> widths, unsigned width,
                    const kernels::LaneBlocks& run) {
  SCOPED_TRACE(std::to_string(run.blocks) + " x " + std::to_string(run.values) + " + " +
               std::to_string(run.rest) + " values, " + std::to_string(widths.size()) +
               " sources of " + std::to_string(widths[0]) + " bits and more, to " +
               std::to_string(width));
  std::vector<LaneSums> sources;
  std::vector<kernels::LaneSource> given;
  for (const unsigned of_source : widths) {
    sources.emplace_back(run, of_source, kernels::body::lane_mask(width) / widths.size(),
                         unsigned(sources.size()));
    given.push_back({sources.back().words.data(), of_source});
  }
  LaneSums expected;
  for (std::size_t b = 0; b < sources[0].values.size(); ++b) {
    std::vector<std::uint64_t> sum(sources[0].values[b].size());
    for (const LaneSums& source : sources)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += source.values[b][i];
    expected.add(sum, width);
  }
  for (std::size_t s = 0; s < given.size(); ++s) given[s].words = sources[s].words.data();
  std::vector<std::uint64_t> sum(expected.words.size() + 1, 0x5a5a5a5a5a5a5a5au);
  tested.table->widen(run, given.data(), given.size(), width, sum.data());
  EXPECT_EQ(sum.back(), 0x5a5a5a5a5a5a5a5au) << "written behind the sum";
  sum.pop_back();
  EXPECT_EQ(sum, expected.words);
}

TEST_P(MergeEquality, LanesOfDifferentWidths) {
  const std::vector<unsigned> widths(std::begin(kernels::body::lane_widths),
                                     std::end(kernels::body::lane_widths));
  for (std::size_t from = 0; from < widths.size(); ++from)
    for (std::size_t to = from; to < widths.size(); ++to) {
      const std::vector<unsigned> two{widths[from], widths[(from + to) / 2]};
      for (const kernels::LaneBlocks& run : {kernels::LaneBlocks{256, 3, 0},
                                             {256, 1, 16},
                                             {16, 5, 0},
                                             {1024, 2, 512},
                                             {256, 0, 128}})
        expect_widened(GetParam(), two, widths[to], run);
    }
  const std::vector<unsigned> many{5, 6, 5, 7, 8, 5, 6, 9, 5};
  expect_widened(GetParam(), many, 12, {256, 2, 64});
  expect_widened(GetParam(), std::vector<unsigned>{5}, 8, {256, 0, 0});
}

TEST_P(MergeEquality, FinishElements) {
  for (const ElementType type : all_element_types)
    for (const std::size_t count : {0, 1, 7, 8, 15, 16, 17, 100, 5000})
      for (const std::uint64_t divisor : {1, 2, 3, 7, 1000}) {
        SCOPED_TRACE(std::string(name_of(type)) + ", " + std::to_string(count) + " / " +
                     std::to_string(divisor));
        const Bytes source = random_bytes(count * size_of(type), count + divisor);
        Bytes expected(source.size());
        GuardedBuffer found(source.size(), size_of(type));
        found.fill(source);  // in place
        kernels::scalar_finish_elements(type, source.data(), count, divisor, expected.data());
        GetParam().table->finish_elements(type, found.data(), count, divisor, found.data());
        EXPECT_TRUE(same_bytes(found.bytes(), expected));
        EXPECT_TRUE(found.fences_intact());
      }
}

INSTANTIATE_TEST_SUITE_P(Tables, MergeEquality, testing::ValuesIn(tables_beside_reference()),
                         table_name);

}  // namespace
}  // namespace cohom::test
