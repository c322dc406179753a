// packed: every instruction set and device gives the bits of the scalar reference, and stays inside
// its buffers.

#include "packed_comparison.hpp"
#include "thoroughness.hpp"

namespace cohom::test {
namespace {

TEST_P(PackedEquality, EncodeAndDecode) {
  CaseShare share(3, 5);
  for (const Values& values : all_values)
    for (const ElementType type : all_element_types)
      for (const std::size_t count : all_counts) {
        if (share.skips_this()) continue;
        compare_values(tested, values, type, count);
        if (HasFatalFailure()) return;
      }
}

/// Every value beside the places where a float's rounding changes, for every dither.
TEST_P(PackedEquality, EncodeAroundIntegers) {
  for (const Dither dither : {Dither::nearest, Dither::independent}) {
    const PackedQuantizer quantizer{.limit = 0x1p28, .dither = dither, .dither_key = 5};
    std::vector<double> values;
    for (int i = -600; i < 600; ++i) {
      const float at = static_cast<float>(i) / 256;
      for (const float value : {std::nextafter(at, -9.f), at, std::nextafter(at, 9.f)})
        values.push_back(value);
    }
    compare_encode(tested, quantizer, {ElementType::f32, 0, values.size()},
                   to_bytes(ElementType::f32, values), {});
  }
}

/// A group whose largest integers are where another way to make planes begins, between groups of
/// small ones.
TEST_P(PackedEquality, EncodeAroundWidths) {
  for (const Dither dither : {Dither::nearest, Dither::independent})
    for (const double largest : {7.0, 127.0, 2047.0, 32766.0, 32767.0, 32768.0, 33000.0, 65535.0})
      for (const double above : {-1.0, -0.25, 0.0, 0.25, 0.75, 1.0}) {
        SCOPED_TRACE(std::to_string(largest) + " and " + std::to_string(above));
        const PackedQuantizer quantizer{.limit = 0x1p28, .dither = dither, .dither_key = 5};
        std::vector<double> values = normal_values(4 * kernels::packed_group, 3, 20);
        for (const std::size_t i : {1100, 1357, 2222})
          values[i] = (i % 2 == 0 ? 1 : -1) * (largest + above);
        compare_encode(tested, quantizer, {ElementType::f32, 0, values.size()},
                       to_bytes(ElementType::f32, values), {});
      }
}

TEST_P(PackedEquality, Measure) {
  CaseShare share(3, 5);
  for (const Values& values : all_values)
    for (const ElementType type : all_element_types)
      for (const std::size_t count : all_counts)
        for (const bool with_feedback : {false, true}) {
          if (share.skips_this()) continue;
          SCOPED_TRACE(values.name + " " + std::string(name_of(type)) + ", " +
                       std::to_string(count) + (with_feedback ? " with feedback" : ""));
          const PackedRun run{type, 0, count};
          const Bytes input = to_bytes(type, values.make(count, 3));
          const ElementType state = type == ElementType::f64 ? type : ElementType::f32;
          Bytes expected_state = to_bytes(state, normal_values(count, 4, 1e-3));
          GuardedBuffer found_state(expected_state.size(), size_of(state));
          found_state.fill(expected_state);
          constexpr std::size_t bins = kernels::body::PackedBins<double>::count;  // the larger
          std::vector<std::uint32_t> expected(bins, 3), found(bins, 3);
          reference().measure(run, input.data(), with_feedback ? expected_state.data() : nullptr,
                              expected.data());
          tested.measure(run, input.data(), with_feedback ? found_state.data() : nullptr,
                         found.data());
          ASSERT_EQ(found, expected);
          ASSERT_TRUE(same_bytes(found_state.bytes(), expected_state));
          ASSERT_TRUE(found_state.fences_intact());
        }
}

TEST_P(PackedEquality, MergeAndShift) {
  CaseShare share(3, 5);
  for (const std::size_t count : all_counts)
    for (const unsigned bits : {1u, 4u, 7u, 9u, 17u, 29u})
      for (const bool differences : {false, true})
        for (const std::size_t sources : {1, 2, 3, 4, 5, 8, 16, 17}) {
          if (share.skips_this()) continue;
          SCOPED_TRACE(std::to_string(count) + " elements, " + std::to_string(bits) + " bits, " +
                       std::to_string(sources) + " sources" + (differences ? ", differences" : ""));
          std::vector<Words> payloads;
          for (std::size_t s = 0; s < sources; ++s) {
            // Some are outliers in every fourth.
            const double limit = s % 4 == 3 ? std::exp2(bits - 1) - 1 : 0x1p29;
            const unsigned own = differences ? std::min(bits, 28u) : bits;
            payloads.push_back(
                payload_of(integers(count, own, 100 * s + bits), limit, differences));
          }
          compare_merge(tested, packed_groups(count), payloads);
          if (HasFatalFailure()) return;
          if (differences || sources > 1) continue;
          for (const unsigned by : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 20u, 29u}) {
            compare_shift(tested, packed_groups(count), payloads[0], by);
            if (HasFatalFailure()) return;
          }
        }
}

/// Every mini-block as wide as it can be: no room is left in the output, nor behind the input.
TEST_P(PackedEquality, FullCapacity) {
  const std::size_t count = 3 * kernels::packed_group;
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = i % 2 == 0 ? -0x1p28 : 0x1p28 - 1;
  const Words payload = payload_of(values, 0x1p29);
  compare_merge(tested, 3, {payload, payload});
  compare_merge(tested, 3, {payload, payload, payload, payload});
  for (const unsigned by : {1u, 8u}) compare_shift(tested, 3, payload, by);
  compare_decode(tested, {ElementType::f32, 0, count}, payload, 0.25, false, 1);
  compare_encode(tested, {.in_f64 = true, .limit = 0x1p29, .dither = Dither::nearest},
                 {ElementType::f64, 0, count}, to_bytes(ElementType::f64, values), {});
}

/// A shift that narrows nothing, in place: what is written must not run ahead of what is read.
TEST_P(PackedEquality, ShiftThatNarrowsNothing) {
  std::vector<double> values(4 * kernels::packed_group, 3.0);
  compare_shift(tested, 4, payload_of(values, 0x1p29), 1);
}

INSTANTIATE_TEST_SUITE_P(Tables, PackedEquality, testing::ValuesIn(tables_beside_reference()),
                         table_name);

}  // namespace
}  // namespace cohom::test
