// Golden hashes of packed's words and results: the wire format, pinned, for every instruction set. A
// difference means that ranks built before and after the change cannot talk to each other: it takes
// a new wire_format_version, not new numbers here.

#include "codecs/packed.hpp"

#include "codec_harness.hpp"
#include "golden.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <string>

namespace cohom::test {
namespace {

/// Hashes of: one rank's contribution, sum, result.
using Hashes = GoldenHashes<3>;

struct Golden {
  const char* name;
  ElementType type;
  Parameters parameters;
  int ranks;
  std::size_t elements;
  Hashes hashes;
};

void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.name; }

Hashes hashes_of(const Golden& golden, kernels::Isa isa) {
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < golden.ranks; ++rank) {
    auto values = golden_input(rank, golden.elements);
    if (golden.name == std::string_view("escape"))
      values[std::size_t(100 + 600 * rank)] = std::numeric_limits<double>::infinity();
    inputs.push_back(to_bytes(golden.type, values));
  }
  CodecHarness harness({.make = make_packed,
                        .ranks = golden.ranks,
                        .type = golden.type,
                        .parameters = golden.parameters,
                        .chunks = 1,
                        .segment = 2048,
                        .kernels = &kernels::kernel_table(isa)});
  harness.allreduce(inputs, 5);  // so that feedback shows in the second call
  const Bytes result = harness.allreduce(inputs, 6);
  const int payload = harness.codec(0).payload_round();
  return {hash_of(harness.contribution(payload, golden.ranks - 1)), hash_of(harness.sum(payload)),
          hash_of(result)};
}

// clang-format off
const Golden goldens[] = {
    {"defaults", ElementType::f32, {}, 4, 4900,
     {0x09ca2b8e2912a7a3u, 0x0277c29e57a30db5u, 0x9e0a351a11cc3096u}},
    {"one_rank", ElementType::f32, {}, 1, 4900,
     {0x08c52cfedce8a90du, 0x08c52cfedce8a90du, 0xa22825317386ede0u}},
    {"f64", ElementType::f64, {}, 3, 4900,
     {0x7d071d5634dfe97du, 0xdcf43533cc0fdee7u, 0x2d0024df5dd22efau}},
    {"f16", ElementType::f16, {}, 4, 4900,
     {0x4c21fe7dcc26ac31u, 0x87784b7450fc9781u, 0x4246058219e36d2bu}},
    {"bf16", ElementType::bf16, {}, 4, 4900,
     {0xa17fb3427d2b2338u, 0x956da40ec9922af0u, 0x2485a19867546469u}},
    {"three_bits", ElementType::f32, {{"bits", "3"}, {"seed", "7"}}, 17, 3000,
     {0x188035f518b9b3a3u, 0xed0f9fbef6a9106au, 0xd0e025998cce62aau}},
    {"twelve_bits", ElementType::f32, {{"bits", "12"}, {"down_shift", "3"}}, 5, 3000,
     {0x47e6436fc5c81c76u, 0x83cd7e8c68f828acu, 0xea8ae1ee21177e5bu}},
    {"max", ElementType::f32, {{"budget", "max"}}, 4, 4900,
     {0x050dfdaebe8b8700u, 0x914a12189014d0ddu, 0x2ba35cb7b9c26771u}},
    {"independent", ElementType::f32, {{"dither", "independent"}}, 4, 4900,
     {0x12214e442aa9ccffu, 0xda4124637f494727u, 0x67f1def4cc18ed12u}},
    {"nearest", ElementType::f32, {{"dither", "nearest"}}, 4, 4900,
     {0x440b6ca071e39d25u, 0x36421ff7a3cda0cbu, 0xc0bab5a4626b802cu}},
    {"feedback", ElementType::f32, {{"error_feedback", "on"}}, 4, 4900,
     {0x691591bead58f0b8u, 0xef87169cc148aef7u, 0x4213660ce138ff1du}},
    {"absolute", ElementType::f32, {{"abs_error", "0.01"}}, 3, 4900,
     {0x116704c9d9ce50cfu, 0x19960343320c39afu, 0x3ee8f51dc6cdb1f8u}},
    {"absolute_f64", ElementType::f64, {{"abs_error", "0.0001"}}, 3, 4900,
     {0x443466b69e5f98d3u, 0x1abc3a4dbe142963u, 0xaae8b685e903f415u}},
    {"relative_delta", ElementType::f32, {{"rel_error", "0.001"}, {"predict", "delta"}}, 3, 4900,
     {0xcb405946bf44d95au, 0x578182ed8dbe45d8u, 0x002e3f9dd61fb2b7u}},
    {"escape", ElementType::f32, {}, 3, 4900,
     {0x9e9fdb616bf48629u, 0x7d47a423273f349cu, 0x90ab80f4ca0730a6u}},
};
// clang-format on

class GoldenPacked : public testing::TestWithParam<std::tuple<kernels::Isa, Golden>> {};

TEST_P(GoldenPacked, Words) {
  const auto& [isa, golden] = GetParam();
  const Hashes found = hashes_of(golden, isa);
  EXPECT_TRUE(found == golden.hashes) << golden.name << " gave {" << row_of(found) << "}";
}

std::string golden_name(const testing::TestParamInfo<std::tuple<kernels::Isa, Golden>>& instance) {
  const auto& [isa, golden] = instance.param;
  return std::string(kernels::name_of(isa)) + "_" + golden.name;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenPacked,
                         testing::Combine(testing::ValuesIn(kernels::supported_isas().begin(),
                                                            kernels::supported_isas().end()),
                                          testing::ValuesIn(goldens)),
                         golden_name);

}  // namespace
}  // namespace cohom::test
