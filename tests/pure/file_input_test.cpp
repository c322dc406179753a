// Files as the benchmark's input vectors: rows for ranks, and copies where vectors are longer.

#include "support/input_case.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cohom::bench {
namespace {

using input_case::make;
using input_case::seed;

/// A .npy file of 2 rows with 1000 columns: element c of row r is 1 + c + 10000 r, so every value
/// says where it came from.
class FileInput : public ::testing::Test {
 protected:
  static constexpr std::size_t columns = 1000;

  FileInput() {
    std::ofstream stream(path_, std::ios::binary);
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1000), }";
    header.resize(117, ' ');
    header += '\n';
    stream << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size()) << '\0' << header;
    for (std::size_t r = 0; r < 2; ++r)
      for (std::size_t c = 0; c < columns; ++c) {
        const double value = value_of(r, c);
        stream.write(reinterpret_cast<const char*>(&value), sizeof value);
      }
  }
  ~FileInput() override { std::filesystem::remove(path_); }

  static double value_of(std::size_t row, std::size_t column) {
    return static_cast<double>(1 + column + 10000 * row);
  }

  std::filesystem::path path_ = std::filesystem::path(::testing::TempDir()) /
                                ("cohom_inputs_test_" + std::to_string(::getpid()) + ".npy");
};

TEST_F(FileInput, GivesRanksTheirRows) {
  for (int rank = 0; rank < 5; ++rank) {
    const auto input = make_input(path_.string(), seed, rank);
    EXPECT_EQ(input->rows(), 2u);
    EXPECT_EQ(input->elements(), columns);
    const auto values = make(path_.string(), columns, rank);
    for (std::size_t c = 0; c < columns; ++c)
      ASSERT_EQ(values[c], value_of(static_cast<std::size_t>(rank) % 2, c));
  }
}

TEST_F(FileInput, LongerVectorsRepeatBlocksInAnotherOrderWithRandomSigns) {
  constexpr std::size_t copies = 20;
  const auto values = make(path_.string(), copies * columns);
  std::size_t moved = 0, negative = 0;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    std::vector<double> sorted;
    for (std::size_t c = 0; c < columns; ++c) {
      const double value = values[copy * columns + c];
      sorted.push_back(std::abs(value));
      if (c % 256 == 0) {
        moved += std::abs(value) != value_of(0, c) ? 1 : 0;
        negative += value < 0 ? 1 : 0;
      } else {
        // Inside a block all is as in the file: the neighbour's value and sign.
        ASSERT_EQ(std::abs(value), std::abs(values[copy * columns + c - 1]) + 1);
        ASSERT_EQ(value < 0, values[copy * columns + c - 1] < 0);
      }
    }
    std::ranges::sort(sorted);
    for (std::size_t c = 0; c < columns; ++c)
      ASSERT_EQ(sorted[c], value_of(0, c)) << "copy " << copy;
  }
  EXPECT_GT(moved, 20u);  // of 60 whole blocks, about a third stay where they are
  EXPECT_GT(negative, 20u);
  EXPECT_LT(negative, 60u);  // of 80
}

TEST_F(FileInput, TheFirstCopyIsTheFile) {
  const auto values = make(path_.string(), 3 * columns);
  for (std::size_t c = 0; c < columns; ++c) ASSERT_EQ(values[c], value_of(0, c));
}

TEST_F(FileInput, RanksStayInStep) {
  const auto here = make(path_.string(), 10 * columns, 0);
  const auto there = make(path_.string(), 10 * columns, 1);
  for (std::size_t i = 0; i < here.size(); ++i)
    ASSERT_EQ(std::abs(there[i] - here[i]), 10000) << "element " << i;
}

TEST_F(FileInput, AnyWindowHasTheSameElements) {
  const auto whole = make(path_.string(), 5 * columns);
  const auto input = make_input(path_.string(), seed, 0);
  for (const std::size_t first : {4900u, 0u, 999u, 1000u, 1023u, 2300u}) {
    std::vector<double> window(100);
    input->generate(first, window);
    for (std::size_t i = 0; i < window.size(); ++i) ASSERT_EQ(window[i], whole[first + i]);
  }
}

}  // namespace
}  // namespace cohom::bench
