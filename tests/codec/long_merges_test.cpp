// Merges and finished elements of vectors that fill whole tiles of a device's kernel, which it
// reads and writes by 16 bytes: of any bits, and of the values where additions part.

#include "guarded_buffer.hpp"
#include "kernels/merge/cpu/merge_rows.hpp"
#include "same_bytes.hpp"
#include "tested_tables.hpp"
#include "word_merges.hpp"

#include <cohom/element_type.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

enum class Filling : std::uint8_t { any_bits, special };

/// Bits that are zeros, NaNs, infinities, denormals or the largest numbers of some type.
constexpr std::uint64_t special_bits[] = {
    0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000001, 0x7ff0000000000000,
    0xfff0000000000000, 0x8000000000000000, 0x0000000000000001, 0x7fc000007f800000,
    0xff8000017f800001, 0x7c007c01fc00fe00, 0x7f807fc1ff80ffff, 0x8000000000000001,
    0x0001800000018000, 0x7fefffffffffffff, 0x7f7fffff7bff7bff, 0x0000000000000000};

/// A buffer whose address is that of a whole pack.
GuardedBuffer filled(std::size_t bytes, Filling filling, std::uint64_t seed) {
  GuardedBuffer buffer(bytes, 0);
  std::mt19937_64 engine(seed);
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t random = engine();
    const std::uint64_t word =
        filling == Filling::any_bits ? random : special_bits[random % std::size(special_bits)];
    std::memcpy(buffer.data() + at, &word, std::min<std::size_t>(8, bytes - at));
  }
  return buffer;
}

class LongMerges : public testing::TestWithParam<TestedTable> {
 protected:
  void compare_merge(Merge merge, std::size_t sources, std::size_t bytes, Filling filling) const {
    SCOPED_TRACE(std::string(name_of(merge.kind)) + " " + std::string(name_of(merge.type)) + ", " +
                 std::to_string(bytes) + " bytes, " + std::to_string(sources) +
                 " sources, filling " + std::to_string(static_cast<int>(filling)));
    std::vector<GuardedBuffer> contents;
    std::vector<const void*> addresses;
    for (std::size_t s = 0; s < sources; ++s)
      contents.push_back(filled(bytes, filling, 1 + s + bytes));
    for (GuardedBuffer& buffer : contents) addresses.push_back(buffer.data());
    GuardedBuffer expected(bytes, 0), found(bytes, 0);
    kernels::scalar_merge(merge, addresses.data(), sources, bytes, expected.data());
    GetParam().table->merge(merge, addresses.data(), sources, bytes, found.data());
    EXPECT_TRUE(same_bytes(found.bytes(), expected.bytes()));
    EXPECT_TRUE(found.fences_intact());
  }

  void compare_finish(ElementType type, std::size_t count, std::uint64_t divisor,
                      Filling filling) const {
    SCOPED_TRACE(std::string(name_of(type)) + ", " + std::to_string(count) + " / " +
                 std::to_string(divisor) + ", filling " +
                 std::to_string(static_cast<int>(filling)));
    const std::size_t bytes = count * size_of(type);
    GuardedBuffer source = filled(bytes, filling, divisor), expected(bytes, 0), found(bytes, 0);
    kernels::scalar_finish_elements(type, source.data(), count, divisor, expected.data());
    GetParam().table->finish_elements(type, source.data(), count, divisor, found.data());
    EXPECT_TRUE(same_bytes(found.bytes(), expected.bytes()));
    EXPECT_TRUE(found.fences_intact());
  }

  /// A whole tile of elements of 16 bits, and a part of one behind it; more tiles of larger
  /// elements.
  static constexpr std::size_t elements = 8192 + 777;
};

TEST_P(LongMerges, GiveTheReferencesBits) {
  for (const Filling filling : {Filling::any_bits, Filling::special})
    for (const std::size_t sources : {1, 2, 3, 16, 17}) {
      for (const MergeKind kind : word_merges)
        compare_merge({kind}, sources, 8 * elements, filling);
      for (const ElementType type : all_element_types)
        compare_merge({MergeKind::add_float, type}, sources, elements * size_of(type), filling);
    }
}

TEST_P(LongMerges, FinishedElementsAreTheReferences) {
  for (const Filling filling : {Filling::any_bits, Filling::special})
    for (const ElementType type : all_element_types)
      for (const std::uint64_t divisor : {1, 2, 3, 7, 64})
        compare_finish(type, elements, divisor, filling);
}

INSTANTIATE_TEST_SUITE_P(Tables, LongMerges, testing::ValuesIn(tables_beside_reference()),
                         table_name);

}  // namespace
}  // namespace cohom::test
