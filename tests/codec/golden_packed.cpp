// Golden hashes of packed's words and results: the wire format, pinned, for every instruction set. A
// difference means that ranks built before and after the change cannot talk to each other: it takes
// a new wire_format_version, not new numbers here.

#include "codecs/packed.hpp"

#include "codec_harness.hpp"
#include "golden.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

/// Hashes of: one rank's contribution, sum, result.
using Hashes = GoldenHashes<3>;

using Golden = GoldenCase<3>;

Hashes hashes_of(const Golden& golden, kernels::Isa isa) {
  const std::vector<Bytes> inputs = golden_inputs(golden);
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
     {0x56a2d4e382318985u, 0x2a4881ccdfd59244u, 0x779b48b1b1673f5cu}},
    {"one_rank", ElementType::f32, {}, 1, 4900,
     {0x08c52cfedce8a90du, 0x08c52cfedce8a90du, 0xa22825317386ede0u}},
    {"f64", ElementType::f64, {}, 3, 4900,
     {0x896ca18d603b8744u, 0xf49949af0ca26799u, 0x4ed372ba172c4dcdu}},
    {"f16", ElementType::f16, {}, 4, 4900,
     {0x6caba15a20a3de36u, 0x59fbcbb5a21c487au, 0x30cd75a454183494u}},
    {"bf16", ElementType::bf16, {}, 4, 4900,
     {0x7dafaf16594a6e45u, 0x29bc2117be13a0b4u, 0xa51c486bba050b72u}},
    {"three_bits", ElementType::f32, {{"bits", "3"}, {"seed", "7"}}, 17, 3000,
     {0x7f3347976c1be1b9u, 0x8b0328081b140efbu, 0x8637c009d63d8ec1u}},
    {"twelve_bits", ElementType::f32, {{"bits", "12"}, {"down_shift", "3"}}, 5, 3000,
     {0xec67f8f183bb6145u, 0xdaec3e5764dae387u, 0x390dcb382ddd5442u}},
    {"max", ElementType::f32, {{"budget", "max"}}, 4, 4900,
     {0x050dfdaebe8b8700u, 0xa6795f3420818f7au, 0xd95248b4d569330du}},
    {"independent", ElementType::f32, {{"dither", "independent"}}, 4, 4900,
     {0x16454c0152988e27u, 0x2486c2087bc52bc2u, 0xa3798a109447c64cu}},
    {"nearest", ElementType::f32, {{"dither", "nearest"}}, 4, 4900,
     {0x037aea9299ac95e7u, 0xf65d02709a8957eeu, 0x40e22852e7abafffu}},
    {"feedback", ElementType::f32, {{"error_feedback", "on"}}, 4, 4900,
     {0x8e068b4270c4d6ccu, 0xf6c5e3cbd7b41318u, 0xfe3aa4099e6cdfd5u}},
    {"absolute", ElementType::f32, {{"abs_error", "0.01"}}, 3, 4900,
     {0x116704c9d9ce50cfu, 0x19960343320c39afu, 0x3ee8f51dc6cdb1f8u}},
    {"absolute_f64", ElementType::f64, {{"abs_error", "0.0001"}}, 3, 4900,
     {0x443466b69e5f98d3u, 0x1abc3a4dbe142963u, 0xaae8b685e903f415u}},
    {"relative_delta", ElementType::f32, {{"rel_error", "0.001"}, {"predict", "delta"}}, 3, 4900,
     {0xcb405946bf44d95au, 0x578182ed8dbe45d8u, 0x002e3f9dd61fb2b7u}},
    {"escape", ElementType::f32, {}, 3, 4900,
     {0xe91fe1f230156698u, 0xc212a8c413441969u, 0x464908727d93f6ffu}},
};
// clang-format on

class GoldenPacked : public testing::TestWithParam<std::tuple<kernels::Isa, Golden>> {};

TEST_P(GoldenPacked, Words) {
  const auto& [isa, golden] = GetParam();
  const Hashes found = hashes_of(golden, isa);
  EXPECT_TRUE(found == golden.hashes) << golden.name << " gave {" << row_of(found) << "}";
}

INSTANTIATE_TEST_SUITE_P(All, GoldenPacked,
                         testing::Combine(testing::ValuesIn(kernels::supported_isas().begin(),
                                                            kernels::supported_isas().end()),
                                          testing::ValuesIn(goldens)),
                         [](const auto& instance) { return golden_name(instance.param); });

}  // namespace
}  // namespace cohom::test
