// Placing a sketch's items: every instruction set gives the bits of the scalar reference.

#include "kernels/core/isa.hpp"
#include "kernels/sketch/cpu/placing_rows.hpp"
#include "kernels/table/kernel_table.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using kernels::PlacingKernels;
using kernels::SketchPlace;
using kernels::SketchShape;

class Placing : public testing::TestWithParam<kernels::Isa> {
 protected:
  const PlacingKernels& kernels_ = kernels::kernel_table(GetParam()).placing;
  PlacingKernels reference_ = kernels::scalar_placing();
};

TEST_P(Placing, PlacesAreTheReferences) {
  std::vector<std::uint32_t> names;
  for (std::uint32_t i = 0; i < 100; ++i) names.push_back(i * i * 37);
  for (const SketchShape shape :
       {SketchShape{.row = 1, .key = 5}, SketchShape{.row = 3277, .key = 6},
        SketchShape{.row = (1u << 21) / 3, .key = ~std::uint64_t{0}}})
    for (const std::size_t items : {0, 1, 3, 7, 8, 9, 16, 33, 100})
      for (const std::uint32_t* named : {static_cast<const std::uint32_t*>(nullptr),
                                         static_cast<const std::uint32_t*>(names.data())}) {
        std::vector<SketchPlace> places(items + 1, SketchPlace({.row = 9, .key = 9}, 9));
        auto expected = places;
        kernels_.places(shape, named, items, places.data());
        reference_.places(shape, named, items, expected.data());
        ASSERT_EQ(std::memcmp(places.data(), expected.data(), 8 * places.size()), 0) << items;
        for (std::size_t i = 0; i < items; ++i)
          for (std::uint32_t r = 0; r < 3; ++r) {
            ASSERT_GE(places[i].cell(r), r * shape.row);
            ASSERT_LT(places[i].cell(r), (r + 1) * shape.row);
          }
      }
}

TEST_P(Placing, SinglesAreTheReferences) {
  std::vector<std::uint32_t> links;
  for (std::uint32_t i = 0; i < 500; ++i) links.push_back(i % 7 % 3 << 16 | i * 131 % 65536);
  for (const std::size_t count : {0, 1, 3, 4, 15, 16, 17, 33, 100, 500}) {
    std::vector<std::uint32_t> numbers(count + 16), expected(count + 16);
    const std::size_t found = kernels_.find_singles(links.data(), count, numbers.data());
    ASSERT_EQ(found, reference_.find_singles(links.data(), count, expected.data())) << count;
    for (std::size_t i = 0; i < found; ++i) {
      ASSERT_EQ(numbers[i], expected[i]) << count;
      ASSERT_EQ(links[numbers[i]] >> 16, 1u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, Placing, testing::ValuesIn(kernels::supported_isas()),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

}  // namespace
}  // namespace cohom::test
