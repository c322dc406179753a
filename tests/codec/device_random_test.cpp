// Five million random words through the kernels of devices: the reference's bits, whatever floats
// they are.

#include "elements.hpp"
#include "kernels/table/kernel_table.hpp"
#include "same_bytes.hpp"
#include "tested_tables.hpp"
#include "thc_comparison.hpp"
#include "word_merges.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::size_t words = 5'000'000;

std::vector<std::uint64_t> random_words(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::uint64_t> all(count);
  for (std::uint64_t& word : all) word = engine();
  return all;
}

/// Those beside the fastest instruction set, which is the reference's equal.
class DeviceRandom : public testing::TestWithParam<TestedTable> {
 protected:
  const kernels::KernelTable& tested_ = *GetParam().table;
  const kernels::KernelTable& expected_ = kernels::kernel_table();
};

std::vector<TestedTable> devices() {
  auto all = tested_tables();
  std::erase_if(
      all, [](const TestedTable& tested) { return tested.table->isa != kernels::Isa::device; });
  return all;
}

TEST_P(DeviceRandom, Merge) {
  const auto a = random_words(words, 1), b = random_words(words, 2);
  const void* const sources[] = {a.data(), b.data()};
  std::vector<Merge> merges{{MergeKind::add_float, ElementType::f32}};
  for (const MergeKind kind : word_merges) merges.push_back({kind});
  for (const Merge merge : merges) {
    std::vector<std::uint64_t> found(words), expected(words);
    tested_.merge(merge, sources, 2, 8 * words, found.data());
    expected_.merge(merge, sources, 2, 8 * words, expected.data());
    EXPECT_TRUE(found == expected) << to_string(merge);
  }
}

/// Elements of random bits would all be outliers; so their exponents are near each other in most
/// blocks.
std::vector<float> random_elements() {
  std::vector<float> elements(words);
  std::mt19937_64 engine(3);
  for (std::size_t i = 0; i < words; ++i) {
    auto bits = static_cast<std::uint32_t>(engine());
    if (i / 1024 % 8 != 0)
      bits = (bits & 0x807fffff) | static_cast<std::uint32_t>(i / 1024 % 250 + engine() % 4) << 23;
    std::memcpy(&elements[i], &bits, 4);
  }
  return elements;
}

TEST_P(DeviceRandom, Thc) {
  const std::vector<float> input = random_elements();
  const kernels::ThcFormat format = make_thc_format({}, 1, 4);
  const kernels::ThcDraws draws{11, 12, 13};
  const kernels::ThcRun run{ElementType::f32, 0, words};
  const std::size_t blocks = (words + 255) / 256;
  std::vector<std::uint32_t> codes(blocks), expected_codes(blocks);
  tested_.thc.measure(format, run, input.data(), nullptr, codes.data());
  expected_.thc.measure(format, run, input.data(), nullptr, expected_codes.data());
  ASSERT_TRUE(codes == expected_codes);
  std::vector<std::uint64_t> found(blocks * 16), expected(blocks * 16);
  tested_.thc.encode(format, draws, run, input.data(), nullptr, codes.data(), Form::narrow,
                     found.data());
  expected_.thc.encode(format, draws, run, input.data(), nullptr, codes.data(), Form::narrow,
                       expected.data());
  ASSERT_TRUE(found == expected);
  const std::vector<const std::uint64_t*> contributions(3, found.data());
  std::vector<std::uint64_t> sum(blocks * 32), expected_sum(blocks * 32);
  tested_.thc.promote(format, run, contributions.data(), 3, sum.data());
  expected_.thc.promote(format, run, contributions.data(), 3, expected_sum.data());
  ASSERT_TRUE(sum == expected_sum);
  std::vector<float> output(words), expected_output(words);
  tested_.thc.decode(format, draws, run, sum.data(), 3, codes.data(), 3, output.data());
  expected_.thc.decode(format, draws, run, sum.data(), 3, codes.data(), 3, expected_output.data());
  EXPECT_TRUE(
      same_bytes(std::as_bytes(std::span(output)), std::as_bytes(std::span(expected_output))));
}

TEST_P(DeviceRandom, Signs) {
  const std::vector<float> input = random_elements();
  const kernels::SignRun run{ElementType::f32, 0, words};
  const std::size_t blocks = (words + 1023) / 1024;
  std::vector<kernels::SignBlock> found(blocks), expected(blocks);
  tested_.sign.measure(run, input.data(), nullptr, false, found.data());
  expected_.sign.measure(run, input.data(), nullptr, false, expected.data());
  std::vector<double> scales;
  for (std::size_t b = 0; b < blocks; ++b) {
    ASSERT_EQ(found[b].code, expected[b].code) << "block " << b;
    ASSERT_EQ(found[b].sum, expected[b].sum) << "block " << b;
    scales.push_back(found[b].code == kernels::outlier_code ? -1 : found[b].alive ? 0.5 : 0);
  }
  std::vector<std::uint64_t> bits(blocks * 16), expected_bits(blocks * 16);
  tested_.sign.pack(run, input.data(), nullptr, scales.data(), true, bits.data());
  expected_.sign.pack(run, input.data(), nullptr, scales.data(), true, expected_bits.data());
  EXPECT_TRUE(bits == expected_bits);
}

TEST_P(DeviceRandom, Sparse) {
  std::vector<std::uint64_t> bitmap = random_words(words / 64 / 8, 4);
  const std::size_t count = 64 * bitmap.size();
  const std::vector<std::uint64_t> elements = random_words(count, 5);
  const kernels::SparseRun run{8, 0, count};
  const std::size_t selected = expected_.sparse.count_bits(bitmap.data(), bitmap.size());
  EXPECT_EQ(tested_.sparse.count_bits(bitmap.data(), bitmap.size()), selected);
  std::vector<std::uint64_t> found(count), expected(count);
  tested_.sparse.compact(run, elements.data(), bitmap.data(), found.data());
  expected_.sparse.compact(run, elements.data(), bitmap.data(), expected.data());
  found.resize(selected);
  expected.resize(selected);
  EXPECT_TRUE(found == expected);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceRandom, testing::ValuesIn(devices()), table_name);

}  // namespace
}  // namespace cohom::test
