// Golden hashes of thc's words and results: the wire format, pinned, for every instruction set. A
// difference means that ranks built before and after the change cannot talk to each other: it takes
// a new wire_format_version, not new numbers here.

#include "codecs/thc/thc.hpp"

#include "golden.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cohom::test {
namespace {

/// Hashes of: agreement, one rank's narrow and wide contribution, sum, result.
using Hashes = GoldenHashes<5>;

using Golden = GoldenCase<5>;

Hashes hashes_of(const Golden& golden, const kernels::KernelTable& table) {
  const std::vector<Bytes> inputs = golden_inputs(golden);
  HarnessSetup setup = golden_setup(make_thc, golden, table);
  setup.segment = golden.elements;
  CodecHarness narrow(setup);
  setup.form = Form::wide;
  CodecHarness wide(setup);
  // Two calls, so that feedback shows in the second.
  for (std::uint64_t step : {5, 6}) {
    const Bytes result = narrow.allreduce(inputs, step);
    EXPECT_EQ(wide.allreduce(inputs, step), result);
    EXPECT_EQ(wide.sum(1), narrow.sum(1));
    if (step == 6)
      return {hash_of(narrow.sum(0)), hash_of(narrow.contribution(1, golden.ranks - 1)),
              hash_of(wide.contribution(1, golden.ranks - 1)), hash_of(narrow.sum(1)),
              hash_of(result)};
  }
  return {};
}

// clang-format off
const Golden goldens[] = {
    {"defaults", ElementType::f32, {}, 4, 4900,
     {0xc40384780898d4beu, 0x5967311c09c33491u, 0x35145ef6bc3954dau,
      0x6d041aa991177750u, 0xf04060876336ae32u}},
    {"nmse", ElementType::f32, {{"nmse", "0.01"}}, 4, 2000,
     {0x78da4e4798ce8a13u, 0x3c84efe23e257dc1u, 0x34bdf980502ecee7u,
      0xaa5dcc849b15c5b2u, 0xe00706be3e50a7cdu}},
    {"alone", ElementType::f32, {}, 1, 300,
     {0xac7f8461f2ee3406u, 0xc8420f8f9dd10554u, 0xd88b16e6952a0424u,
      0xd88b16e6952a0424u, 0xbc9cebed8c65d92eu}},
    {"eleven_ranks", ElementType::f32, {}, 11, 2000,
     {0xcaf5060857d4e4edu, 0xe4e6de2276a2035bu, 0xf290007280a88d30u,
      0x46447a8fe7bdbf40u, 0xab2da8c109a2a079u}},
    {"f16", ElementType::f16, {}, 4, 2000,
     {0x4ff1212dd2cf7662u, 0x9642b4cab96fb79bu, 0x4fdbcd45c9effd97u,
      0xbe4e1d308b206dabu, 0x21782768550add44u}},
    {"bf16", ElementType::bf16, {}, 4, 2000,
     {0x9a3d05ac15d76338u, 0x600c3090df5a4f77u, 0x5ef6b7d0e4ce89ceu,
      0xa13208210958aa6au, 0xc41f4fac702ee356u}},
    {"f64", ElementType::f64, {}, 4, 4900,
     {0x4052a105cf1fe875u, 0x5967311c09c33491u, 0x35145ef6bc3954dau,
      0x6d041aa991177750u, 0xe083e301ab771ec2u}},
    {"f64_global", ElementType::f64, {{"scale", "global"}}, 3, 4900,
     {0x82aa5f3b49ba6a6au, 0xb5cddb59e5a5b678u, 0x2560aa9fc53090c0u,
      0xda477ecdeeea0c54u, 0x210d627d582c94f4u}},
    {"global", ElementType::f32, {{"scale", "global"}, {"seed", "7"}}, 4, 4900,
     {0xe3fa88652ea7dce4u, 0x9a0dc7b7b3caa4aeu, 0x9037f8da701bc3cfu,
      0xc4aba581fe2d5b93u, 0x1069a031e27afb1au}},
    {"full", ElementType::f32, {{"levels", "full"}}, 4, 4900,
     {0xc40384780898d4beu, 0xa4eac92c5e56ee38u, 0x519f99d30aa3cbbcu,
      0x65f02064b7a4613fu, 0x9db50ee80dc51b2bu}},
    {"full_16", ElementType::f32, {{"levels", "full"}, {"lane", "16"}}, 3, 2000,
     {0x3229af124b732beau, 0x5968bf3dabefc726u, 0x5968bf3dabefc726u,
      0xaacc19187bb30affu, 0xcd597af7c223a94cu}},
    {"bits_1", ElementType::f32, {{"bits", "1"}, {"lane", "4"}}, 7, 2000,
     {0xe58ea1a649759758u, 0x5f813081dbe6d9a1u, 0x91540e78c7388e0eu,
      0x72a5be57cd134b51u, 0x8e247a3d34e96e8du}},
    {"bits_3", ElementType::f32, {{"bits", "3"}, {"granularity", "16"}}, 5, 2000,
     {0x78da4e4798ce8a13u, 0x56e86a14716e28dau, 0xf22628018a0feb7au,
      0x54a20b008e8cb6e4u, 0x61e5e67bea312625u}},
    {"bits_8", ElementType::f32, {{"bits", "8"}}, 5, 2000,
     {0x78da4e4798ce8a13u, 0xe5648b5d24f4edc8u, 0x627e208a22a3696fu,
      0x2ab49079ea2887cfu, 0x2521778505adb94du}},
    {"independent", ElementType::f32, {{"dither", "independent"}}, 4, 2000,
     {0x78da4e4798ce8a13u, 0xad25b8708c2645cbu, 0x3d0aa6b03eb67232u,
      0x4be185cacc6572dau, 0xe9b379244e04a6f1u}},
    {"nearest", ElementType::f32, {{"dither", "nearest"}}, 4, 2000,
     {0x78da4e4798ce8a13u, 0x9fccd29967060f9eu, 0x5900483564f8a64eu,
      0x9387d0132f1b286cu, 0x9273da2688a9f90bu}},
    {"rotation_16", ElementType::f32, {{"rotation", "16"}}, 4, 1000,
     {0xd3d1eb7631ab47b0u, 0x6779135f4c8c04efu, 0xa349b44600053125u,
      0xe7e2186d70890c26u, 0x8efa37df4cb6a664u}},
    {"rotation_64", ElementType::f32, {{"rotation", "64"}}, 4, 1000,
     {0x677bb40ebf0db189u, 0xf46737f2a777f87fu, 0xab31be4e51dc5fdbu,
      0x9ad1876f6f4222d4u, 0xda45a3aad8f5699fu}},
    {"rotation_1024", ElementType::f32, {{"rotation", "1024"}}, 4, 4900,
     {0xa5329656c7cfcafcu, 0x254f7c0b19e57872u, 0x35ac1623bc8ad3d4u,
      0x23133b92dd096838u, 0x04855d56d1115f30u}},
    {"rotation_65536", ElementType::f32, {{"rotation", "65536"}}, 2, 70000,
     {0x5fddb9faecee267bu, 0xc38843369eda590eu, 0x2eb4b0571dd5a8fcu,
      0xa4419f532670578du, 0x18a96aad46a9064cu}},
    {"feedback", ElementType::f32, {{"error_feedback", "on"}}, 4, 2000,
     {0xfa4c92a146aabbf1u, 0x578611a3345f3b1cu, 0xcbd6f2ed651f460fu,
      0x3d3c15d72ef55b76u, 0xc2c6e8f08876fd74u}},
    {"feedback_f64", ElementType::f64, {{"error_feedback", "on"}, {"dither", "correlated"}}, 3,
     2000,
     {0xcb6e7ad40af5bfbdu, 0x1a99ed149b2793a2u, 0xfd650e9a4fc2db9fu,
      0xf5262fd9f2e26913u, 0x93bb68b63f474682u}},
    {"escape", ElementType::f32, {}, 3, 4900,
     {0x4094307346f057adu, 0x6bec9916c71a8a51u, 0x43820aeb2920f11cu,
      0x833c8c0992d7b852u, 0x7cf39c7456e6259fu}},
    {"300_ranks", ElementType::f32, {}, 300, 700,
     {0xddedf038f593f5adu, 0x7e109a5cc1901739u, 0xa64fba008e5c5f3eu,
      0x356cfc3679f26351u, 0x3e37ce76e367dbffu}},
    {"full_256_ranks", ElementType::f32, {{"levels", "full"}}, 256, 700,
     {0xddedf038f593f5adu, 0x3eb94eb233ac8223u, 0x52f067f5d6d62e1fu,
      0x189a23eff7a6e077u, 0x7297601ca451e5b2u}},
};
// clang-format on

class GoldenThc : public GoldenSuite<5> {};

TEST_P(GoldenThc, Payload) { check(hashes_of); }

INSTANTIATE_TEST_SUITE_P(All, GoldenThc, GoldenThc::all(goldens),
                         [](const auto& instance) { return golden_name(instance.param); });

}  // namespace
}  // namespace cohom::test
