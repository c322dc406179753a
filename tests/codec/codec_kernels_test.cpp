// Every codec of the table gives, with the kernels of every instruction set and device, the words
// and the results that it gives with the reference's.

#include "codec_harness.hpp"
#include "codec_specs.hpp"
#include "elements.hpp"
#include "same_bytes.hpp"
#include "tested_tables.hpp"
#include "thoroughness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

constexpr int ranks = 3;

/// Normal vectors with whole blocks of zeros, of denormals and of large numbers, and some values
/// that are none.
std::vector<Bytes> inputs(ElementType type, std::size_t count) {
  std::vector<Bytes> all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto values = normal_values(count, rank);
    const double tiny = type == ElementType::f64 ? 1e-310 : type == ElementType::f16 ? 1e-6 : 1e-41;
    for (std::size_t i = 0; i < count; ++i) {
      if (i / 256 % 7 == 1) values[i] = i % 2 == 0 ? 0.0 : -0.0;
      if (i / 256 % 7 == 3) values[i] *= tiny;
      if (i / 256 % 7 == 5) values[i] *= 1000;
    }
    if (rank == 1 && count > 2000) {
      values[1900] = std::numeric_limits<double>::quiet_NaN();
      values[100] = -std::numeric_limits<double>::infinity();
    }
    all.push_back(to_bytes(type, values));
  }
  return all;
}

/// What three ranks send and get in two calls, with feedback from the first to the second.
struct Outcome {
  std::vector<std::vector<std::uint64_t>> words;
  std::vector<Bytes> results;

  Outcome(const kernels::KernelTable& table, const std::string& text, ElementType type,
          std::size_t count) {
    const Spec spec = parse_spec(text);
    CodecHarness harness({.make = find_codec(spec.name).make,
                          .ranks = ranks,
                          .type = type,
                          .parameters = spec.parameters,
                          .mean = count % 2 == 0,
                          .segment = 4096,
                          .kernels = &table});
    for (const std::uint64_t step : {1, 2}) {
      results.push_back(harness.allreduce(inputs(type, count), step));
      for (std::size_t round = 0; round < harness.codec(0).rounds().size(); ++round)
        for (int rank = 0; rank < ranks; ++rank)
          words.push_back(harness.contribution(static_cast<int>(round), rank));
    }
  }
};

using Case = std::tuple<TestedTable, CodecSpec>;

class CodecKernels : public testing::TestWithParam<Case> {};

TEST_P(CodecKernels, GiveTheReferencesBits) {
  const auto& [tested, sample] = GetParam();
  const std::string spec(sample.spec);
  for (const ElementType type : tested_types())
    for (const std::size_t count : {1, 777, sanitized ? 3333 : 9999}) {
      SCOPED_TRACE(std::string(name_of(type)) + ", " + std::to_string(count) + " elements");
      const Outcome expected(kernels::kernel_table(kernels::Isa::scalar), spec, type, count);
      const Outcome found(*tested.table, spec, type, count);
      ASSERT_EQ(found.words.size(), expected.words.size());
      for (std::size_t i = 0; i < found.words.size(); ++i)
        EXPECT_TRUE(found.words[i] == expected.words[i]) << "words " << i;
      for (std::size_t i = 0; i < found.results.size(); ++i)
        EXPECT_TRUE(same_bytes(found.results[i], expected.results[i])) << "call " << i;
    }
}

/// Every spec with the kernels of every table that has some for its codec.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const TestedTable& tested : tables_beside_reference())
    for (const CodecSpec& sample : specs_for(ranks)) {
      const CodecRow& row = find_codec(parse_spec(std::string(sample.spec)).name);
      if (tested.table->isa != kernels::Isa::device || row.device.has_kernels != nullptr)
        all.emplace_back(tested, sample);
    }
  return all;
}

std::string case_name(const testing::TestParamInfo<Case>& instance) {
  const auto& [tested, sample] = instance.param;
  std::string name = tested.name + "_" + std::string(sample.spec);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Tables, CodecKernels, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace cohom::test
