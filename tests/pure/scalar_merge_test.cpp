#include "kernels/merge/cpu/merge_rows.hpp"

#include "elements.hpp"
#include "word_merges.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace cohom::kernels {
namespace {

using test::Bytes;
using test::to_bytes;
using test::to_values;
using Words = std::vector<std::uint64_t>;

Words merged(MergeKind kind, std::initializer_list<Words> sources) {
  std::vector<const void*> pointers;
  for (const Words& words : sources) pointers.push_back(words.data());
  Words result(sources.begin()->size());
  scalar_merge({kind}, pointers.data(), pointers.size(), 8 * result.size(), result.data());
  return result;
}

TEST(ScalarMerge, Words) {
  const Words a{0x0000000180000000u, 5}, b{0x80000000ffffffffu, 9}, c{0x0000000200000000u, 3};
  EXPECT_EQ(merged(MergeKind::add, {a, b, c}), (Words{0x800000047fffffffu, 17}));
  EXPECT_EQ(merged(MergeKind::bit_or, {a, b, c}), (Words{0x80000003ffffffffu, 15}));
  EXPECT_EQ(merged(MergeKind::max, {a, b, c}), (Words{0x80000000ffffffffu, 9}));
  EXPECT_EQ(merged(MergeKind::max, {a, c}), (Words{0x0000000280000000u, 5}));
  EXPECT_EQ(merged(MergeKind::add, {a}), a);
}

TEST(ScalarMerge, PartsOfWords) {
  const Words a{0x007f80ff01fe8000u, 5}, b{0x017f7f0002fe7fffu, 0x0100}, c{0x00807e01ff000101u, 0};
  EXPECT_EQ(merged(MergeKind::max8, {a, b}), (Words{0x017f80ff02fe80ffu, 0x0105}));
  EXPECT_EQ(merged(MergeKind::max8, {a, b, c}), (Words{0x018080fffffe80ffu, 0x0105}));
  EXPECT_EQ(merged(MergeKind::max16, {a, b}), (Words{0x017f80ff02fe8000u, 0x0100}));
  EXPECT_EQ(merged(MergeKind::max16, {a, b, c}), (Words{0x017f80ffff008000u, 0x0100}));
  EXPECT_EQ(merged(MergeKind::max8, {a}), a);
  EXPECT_EQ(merged(MergeKind::max16, {b}), b);
}

TEST(ScalarMerge, IntoAnyOfItsSources) {
  for (std::size_t target : {0, 1, 2}) {
    const std::vector<Words> all{{1, 2}, {30, 40}, {500, 600}};
    for (const MergeKind kind : test::word_merges) {
      std::vector<Words> sources = all;
      const void* pointers[] = {sources[0].data(), sources[1].data(), sources[2].data()};
      scalar_merge({kind}, pointers, 3, 16, sources[target].data());
      EXPECT_EQ(sources[target], merged(kind, {all[0], all[1], all[2]})) << name_of(kind);
    }
  }
}

Bytes added(ElementType type, std::vector<std::vector<double>> sources) {
  std::vector<Bytes> bytes;
  std::vector<const void*> pointers;
  for (const auto& source : sources) bytes.push_back(to_bytes(type, source));
  for (const Bytes& source : bytes) pointers.push_back(source.data());
  Bytes result(bytes[0].size());
  scalar_merge({MergeKind::add_float, type}, pointers.data(), pointers.size(), result.size(),
               result.data());
  return result;
}

TEST(ScalarMerge, RoundsOnceAMerge) {
  // 2048 + 1 is a tie in f16 and 256 + 1 in bf16: both stay where they are, twice.
  EXPECT_EQ(added(ElementType::f16, {{2048}, {1}, {1}}),
            to_bytes(ElementType::f16, std::vector{2048.0}));
  EXPECT_EQ(added(ElementType::bf16, {{256}, {1}, {1}}),
            to_bytes(ElementType::bf16, std::vector{256.0}));
  EXPECT_EQ(added(ElementType::f32, {{0x1p24}, {1}, {1}}),
            to_bytes(ElementType::f32, std::vector{0x1p24}));
  EXPECT_EQ(added(ElementType::f64, {{0x1p24}, {1}, {1}}),
            to_bytes(ElementType::f64, std::vector{0x1p24 + 2}));
}

TEST(ScalarMerge, WritesOneNan) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (ElementType type : all_element_types) {
    const auto expected = to_bytes(type, std::vector{nan, nan, infinity});
    EXPECT_EQ(added(type, {{infinity, -nan, infinity}, {-infinity, 1, 1}}), expected);
    EXPECT_EQ(added(type, {{nan, -nan, infinity}}), expected);
  }
}

TEST(ScalarFinish, DividesAndCleans) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (ElementType type : all_element_types) {
    Bytes elements = to_bytes(type, std::vector{7.0, -nan, -0.0});
    scalar_finish_elements(type, elements.data(), 3, 2, elements.data());
    EXPECT_EQ(elements, to_bytes(type, std::vector{3.5, nan, -0.0}));
    scalar_finish_elements(type, elements.data(), 3, 1, elements.data());
    EXPECT_EQ(elements, to_bytes(type, std::vector{3.5, nan, -0.0}));
  }
}

}  // namespace
}  // namespace cohom::kernels
