// Golden hashes of signcount's and marsit's words and results: the wire format, pinned, for every
// instruction set. A difference means that ranks built before and after the change cannot talk to
// each other: it takes a new wire_format_version, not new numbers here.

#include "codecs/marsit/marsit.hpp"
#include "codecs/signcount/signcount.hpp"

#include "golden.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace cohom::test {
namespace {

/// Hashes of: agreement, one rank's narrow contribution, sum, result.
using Hashes = GoldenHashes<4>;

using Golden = GoldenCase<4>;

Hashes hashes_of(const Golden& golden, const kernels::KernelTable& table) {
  const bool marsit = std::string_view(golden.name).starts_with("marsit");
  const std::vector<Bytes> inputs = golden_inputs(golden);
  CodecHarness harness(golden_setup(marsit ? make_marsit : make_signcount, golden, table));
  const Bytes result = golden_allreduce(harness, inputs);
  const int payload = harness.codec(0).payload_round();
  return {hash_of(harness.sum(payload - 1)),
          hash_of(harness.contribution(payload, golden.ranks - 1)), hash_of(harness.sum(payload)),
          hash_of(result)};
}

// clang-format off
const Golden goldens[] = {
    {"defaults", ElementType::f32, {}, 4, 4900,
     {0xbf8ae3dd478cda58u, 0x30a59392715a2dd2u, 0xe8b43d2d931b6927u,
      0x28c55d5c2f9a4eafu}},
    {"f64", ElementType::f64, {}, 3, 4900,
     {0x70c25e4b77d44348u, 0xa83c514ef991eaefu, 0x9c2be8cd557d3f77u,
      0xbe9d9e0c6bf25762u}},
    {"f16", ElementType::f16, {}, 8, 4900,
     {0xd1869160ca0c1b53u, 0x5ffa86adb23e5e4fu, 0x120ae2447e7abce8u,
      0x34ca31cb873d209bu}},
    {"bf16", ElementType::bf16, {}, 5, 4900,
     {0x4d40f59f8f86c40fu, 0x99c8ce3dbcfbb00au, 0x581e263bd4d001f6u,
      0x42bf098f35c38ae1u}},
    {"one_rank", ElementType::f32, {}, 1, 4900,
     {0x31715d0293257414u, 0x60f95abc23f2beafu, 0x60f95abc23f2beafu,
      0xc88ad0d75e7aa5f7u}},
    {"many_ranks", ElementType::f32, {}, 17, 4900,
     {0xc1781423cafb0790u, 0x49a2e954bd4fd8a4u, 0xa1657be0a98b2fedu,
      0xe168060562ad9905u}},
    {"global", ElementType::f32, {{"scale", "global"}}, 4, 4900,
     {0x1f35fb17272fad3eu, 0x30a59392715a2dd2u, 0xe8b43d2d931b6927u,
      0xa468d6ebc37683fcu}},
    {"number", ElementType::f32, {{"scale", "0.25"}}, 4, 4900,
     {0xbd19075a3dfe4a7du, 0x30a59392715a2dd2u, 0xe8b43d2d931b6927u,
      0x5fdf8ad3d6e0bea4u}},
    {"feedback", ElementType::f32, {{"error_feedback", "on"}}, 4, 4900,
     {0x357d4168fad144afu, 0x79eeabfc146cddcdu, 0x45f82751ab56adb7u,
      0x150dc555bc6d4b98u}},
    {"majority", ElementType::f32, {{"vote", "majority"}}, 8, 4900,
     {0x02e9e94f45c236ffu, 0x1f48c066feb04a4du, 0x8c28a5bd64f2976eu,
      0x5362c0f753e29063u}},
    {"majority_three", ElementType::f32, {{"vote", "majority"}}, 3, 4900,
     {0x5efa68d9b9c97c34u, 0xa83c514ef991eaefu, 0xd9bed6d431304a3cu,
      0xc7dbdb7bae60a89bu}},
    {"escape", ElementType::f32, {}, 3, 4900,
     {0x08f832f8e2d67440u, 0x8d6c9d464ada1b83u, 0x2a3c81cfbc83c43du,
      0x31ba1527e5f9d54bu}},
    {"marsit", ElementType::f32, {}, 4, 4900,
     {0x1f35fb17272fad3eu, 0x6134d8617dd63141u, 0x61476ecb603a20bfu,
      0xd06d38e1b9992d74u}},
    {"marsit_f64", ElementType::f64, {}, 3, 4900,
     {0x45a7d062f8438ec0u, 0x33c4d4af991e6b8au, 0x5b1fb5ec8180e06au,
      0x79c651dbe3110857u}},
    {"marsit_bf16", ElementType::bf16, {}, 7, 4900,
     {0xf323c891f742e516u, 0x006e6a42391b2c22u, 0xbd50429940b9b6d0u,
      0x4eee542063af642cu}},
    {"marsit_many_ranks", ElementType::f32, {{"seed", "9"}}, 17, 4900,
     {0xd0a808ebdd657d52u, 0x8bde1c4b33c76c2au, 0x8fa6a04efccc3bcbu,
      0x3626ae507612a2e5u}},
    {"marsit_number", ElementType::f32, {{"scale", "0.25"}, {"period", "none"}}, 5, 4900,
     {0xbd19075a3dfe4a7du, 0x3fec1ce79d8acd2au, 0x8351bc1096f77807u,
      0x150c669a7ed62b94u}},
    {"marsit_compensation", ElementType::f32, {{"compensation", "on"}}, 8, 4900,
     {0x17117401b48eefcbu, 0xe3c655f5e4541f67u, 0x3454384be2dc6f52u,
      0x07931a46dd31ee2cu}},
    {"marsit_exact", ElementType::f32, {{"compensation", "on"}, {"period", "6"}}, 3, 4900,
     {0xd97deee539ffd278u, 0x33c4d4af991e6b8au, 0x5b1fb5ec8180e06au,
      0xcf29a1028e02b7b1u}},
    {"marsit_300_ranks", ElementType::f32, {}, 300, 2100,
     {0x62e3962ff2f585d8u, 0x00bcc8d2cbbaa574u, 0x236faaf80c9e07fdu,
      0xdb10f844d9b20f15u}},
    {"marsit_1100_ranks", ElementType::f32, {}, 1100, 1100,
     {0x122cbc32d3965aefu, 0x2fbc593564db792eu, 0xb0c57e8a41fdca89u,
      0x9425dbc65d7a6a18u}},
};
// clang-format on

class GoldenSign : public GoldenSuite<4> {};

TEST_P(GoldenSign, Payload) { check(hashes_of); }

INSTANTIATE_TEST_SUITE_P(All, GoldenSign, GoldenSign::all(goldens),
                         [](const auto& instance) { return golden_name(instance.param); });

}  // namespace
}  // namespace cohom::test
