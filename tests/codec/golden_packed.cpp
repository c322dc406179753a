// Golden hashes of packed's words and results: the wire format, pinned, for every instruction set. A
// difference means that ranks built before and after the change cannot talk to each other: it takes
// a new wire_format_version, not new numbers here.

#include "codecs/packed.hpp"

#include "golden.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cohom::test {
namespace {

/// Hashes of: one rank's contribution, sum, result.
using Hashes = GoldenHashes<3>;

using Golden = GoldenCase<3>;

Hashes hashes_of(const Golden& golden, kernels::Isa isa) {
  const std::vector<Bytes> inputs = golden_inputs(golden);
  CodecHarness harness(golden_setup(make_packed, golden, isa));
  const Bytes result = golden_allreduce(harness, inputs);
  const int payload = harness.codec(0).payload_round();
  return {hash_of(harness.contribution(payload, golden.ranks - 1)), hash_of(harness.sum(payload)),
          hash_of(result)};
}

// clang-format off
const Golden goldens[] = {
    {"defaults", ElementType::f32, {}, 4, 4900,
     {0xf238dfa5d068aa1cu, 0x77999f18c7b2b8efu, 0xb959507b23ace642u}},
    {"one_rank", ElementType::f32, {}, 1, 4900,
     {0x08c52cfedce8a90du, 0x08c52cfedce8a90du, 0xa22825317386ede0u}},
    {"f64", ElementType::f64, {}, 3, 4900,
     {0x3b20151d15e3ada3u, 0xdc0b1d93c75465e6u, 0x098b6766d5567c00u}},
    {"f16", ElementType::f16, {}, 4, 4900,
     {0x31bce5b863b41445u, 0xc75b4fafa53a88f1u, 0x2332e4dba944f789u}},
    {"bf16", ElementType::bf16, {}, 4, 4900,
     {0x142b4a76eb55b0bbu, 0x727de523a50fff53u, 0x480a1db9773e4ec5u}},
    {"three_bits", ElementType::f32, {{"bits", "3"}, {"seed", "7"}}, 17, 3000,
     {0x527361229fec2b85u, 0x45d268ae9eaf480au, 0x3622cf2902a1d698u}},
    {"twelve_bits", ElementType::f32, {{"bits", "12"}, {"down_shift", "3"}}, 5, 3000,
     {0xa7b5342145a9448au, 0xa11dbf9a3bf5769eu, 0xd96fb77d2b7cffc8u}},
    {"max", ElementType::f32, {{"budget", "max"}}, 4, 4900,
     {0x050dfdaebe8b8700u, 0xa6795f3420818f7au, 0xd95248b4d569330du}},
    {"independent", ElementType::f32, {{"dither", "independent"}}, 4, 4900,
     {0x4b2d0d8a20c4c585u, 0xea865b1a89564910u, 0xf57cc74f470f4183u}},
    {"nearest", ElementType::f32, {{"dither", "nearest"}}, 4, 4900,
     {0xc3277a753369096eu, 0x9787133c44f12bd0u, 0x593d6e1340b62133u}},
    {"feedback", ElementType::f32, {{"error_feedback", "on"}}, 4, 4900,
     {0xcee7f37f5ee862e0u, 0x31aa168a7ea64c16u, 0x0a67f8d33c0e6403u}},
    {"absolute", ElementType::f32, {{"abs_error", "0.01"}}, 3, 4900,
     {0x116704c9d9ce50cfu, 0x19960343320c39afu, 0x3ee8f51dc6cdb1f8u}},
    {"absolute_f64", ElementType::f64, {{"abs_error", "0.0001"}}, 3, 4900,
     {0x443466b69e5f98d3u, 0x1abc3a4dbe142963u, 0xaae8b685e903f415u}},
    {"relative_delta", ElementType::f32, {{"rel_error", "0.001"}, {"predict", "delta"}}, 3, 4900,
     {0xcb405946bf44d95au, 0x578182ed8dbe45d8u, 0x002e3f9dd61fb2b7u}},
    {"sampled", ElementType::f32, {{"bits", "4"}}, 9, 20000,
     {0xae6269463e9d675du, 0x8d40ec4d714d6c50u, 0x24a551f61cbb59a2u}},
    {"sampled_f64", ElementType::f64, {{"error_feedback", "on"}}, 2, 20000,
     {0x2ff3e4ba5e25457du, 0x580f16c60ab315b7u, 0x1c4ae6f5efcdbdfdu}},
    {"sampled_f16", ElementType::f16, {{"dither", "nearest"}}, 4, 20000,
     {0x30c170e172100f6au, 0x4bd61c9925a30e87u, 0x212dda62c16b154bu}},
    {"escape", ElementType::f32, {}, 3, 4900,
     {0xbd5a58a3b37e66c6u, 0x41f30f866922ff69u, 0x32c21b011ee621e5u}},
};
// clang-format on

class GoldenPacked : public GoldenSuite<3> {};

TEST_P(GoldenPacked, Words) { check(hashes_of); }

INSTANTIATE_TEST_SUITE_P(All, GoldenPacked, GoldenPacked::all(goldens),
                         [](const auto& instance) { return golden_name(instance.param); });

}  // namespace
}  // namespace cohom::test
