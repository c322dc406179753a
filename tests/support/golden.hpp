#pragma once
// Golden hashes: pinned numbers that a codec's words and results must hash to.

#include "codec_harness.hpp"
#include "elements.hpp"
#include "tested_tables.hpp"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace cohom::test {

template <std::size_t Count>
using GoldenHashes = std::array<std::uint64_t, Count>;

/// Roughly normal whole numbers times a power of two that changes every 500 elements; elements 512
/// to 767 are zero on all ranks. Whole numbers, so that every compiler makes the same.
inline std::vector<double> golden_input(int rank, std::size_t elements) {
  std::mt19937_64 engine(std::uint64_t(rank) + 1);
  std::vector<double> values(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    std::int64_t sum = 0;
    for (int k = 0; k < 4; ++k) sum += static_cast<std::int64_t>(engine() >> 44) - (1 << 19);
    const double unit = std::ldexp(1, -24 + 3 * static_cast<int>(i / 500 % 10));
    values[i] = i >= 512 && i < 768 ? 0 : static_cast<double>(sum) * unit;
  }
  return values;
}

template <class Container>
std::uint64_t hash_of(const Container& values) {
  return XXH3_64bits(values.data(), values.size() * sizeof(values[0]));
}

/// One pinned allreduce; `Count` hashes of what it went through.
template <std::size_t Count>
struct GoldenCase {
  const char* name;
  ElementType type;
  Parameters parameters;
  int ranks;
  std::size_t elements;
  GoldenHashes<Count> hashes;

  friend void PrintTo(const GoldenCase& golden, std::ostream* out) { *out << golden.name; }
};

/// The ranks' vectors; in the case named "escape" each has an infinity.
template <std::size_t Count>
std::vector<Bytes> golden_inputs(const GoldenCase<Count>& golden) {
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < golden.ranks; ++rank) {
    auto values = golden_input(rank, golden.elements);
    if (golden.name == std::string_view("escape"))
      values[100 + 600 * std::size_t(rank)] = std::numeric_limits<double>::infinity();
    inputs.push_back(to_bytes(golden.type, values));
  }
  return inputs;
}

template <std::size_t Count>
std::string golden_name(const std::tuple<TestedTable, GoldenCase<Count>>& test) {
  const auto& [tested, golden] = test;
  return tested.name + "_" + golden.name;
}

/// As it would be written in a table.
template <std::size_t Count>
std::string row_of(const GoldenHashes<Count>& hashes) {
  std::string row;
  char text[32];
  for (std::uint64_t hash : hashes) {
    std::snprintf(text, sizeof text, "%s0x%016llxu", row.empty() ? "" : ", ",
                  static_cast<unsigned long long>(hash));
    row += text;
  }
  return row;
}

/// Contributions narrow, in pieces of 2048 elements.
template <std::size_t Count>
HarnessSetup golden_setup(decltype(HarnessSetup::make) make, const GoldenCase<Count>& golden,
                          const kernels::KernelTable& table) {
  return {.make = make,
          .ranks = golden.ranks,
          .type = golden.type,
          .parameters = golden.parameters,
          .chunks = 1,
          .segment = 2048,
          .kernels = &table};
}

/// Two calls, so that what the first one left over shows in the result of the second.
inline Bytes golden_allreduce(CodecHarness& harness, std::span<const Bytes> inputs) {
  harness.allreduce(inputs, 5);
  return harness.allreduce(inputs, 6);
}

/// A table of pinned allreduces, for every instruction set and device.
template <std::size_t Count>
class GoldenSuite : public testing::TestWithParam<std::tuple<TestedTable, GoldenCase<Count>>> {
 public:
  static auto all(std::span<const GoldenCase<Count>> goldens) {
    return testing::Combine(testing::ValuesIn(tested_tables()),
                            testing::ValuesIn(goldens.begin(), goldens.end()));
  }

 protected:
  void check(GoldenHashes<Count> (*hashes_of)(const GoldenCase<Count>&,
                                              const kernels::KernelTable&)) {
    const auto& [tested, golden] = this->GetParam();
    const GoldenHashes<Count> found = hashes_of(golden, *tested.table);
    EXPECT_TRUE(found == golden.hashes) << golden.name << " gave {" << row_of(found) << "}";
  }
};

}  // namespace cohom::test
