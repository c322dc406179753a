// Golden hashes of packed's words and results: the wire format, pinned, for every instruction set.
// A difference means that ranks built before and after the change cannot talk to each other: it
// takes a new wire_format_version, not new numbers here.

#include "codecs/packed/packed.hpp"

#include "golden.hpp"
#include "lone_rank.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cohom::test {
namespace {

/// Hashes of: what was agreed on last (0: nothing), one rank's contribution, sum, result.
using Hashes = GoldenHashes<4>;

using Golden = GoldenCase<4>;

Hashes hashes_of(const Golden& golden, const kernels::KernelTable& table) {
  const std::vector<Bytes> inputs = golden_inputs(golden);
  CodecHarness harness(golden_setup(make_packed, golden, table));
  const Bytes result = golden_allreduce(harness, inputs);
  const int payload = harness.codec(0).payload_round();
  return {payload == 0 ? 0 : hash_of(harness.sum(payload - 1)),
          hash_of(harness.contribution(payload, golden.ranks - 1)), hash_of(harness.sum(payload)),
          hash_of(result)};
}

// clang-format off
const Golden goldens[] = {
    {"defaults", ElementType::f32, {}, 4, 4900,
     {0xa3538fe5b18f4109u, 0x100b107b8eb93668u,
      0x29c8b64753d58553u, 0x1593b3344c3a5c3bu}},
    {"one_rank", ElementType::f32, {}, 1, 4900,
     {0x9a7395ff1e4c6a46u, 0x08c52cfedce8a90du,
      0x08c52cfedce8a90du, 0xa22825317386ede0u}},
    {"f64", ElementType::f64, {}, 3, 4900,
     {0x3095cddbc273cc3fu, 0x2dae008615ca1355u,
      0x949c9a406ac55691u, 0x78e30ce9698dd5c2u}},
    {"f16", ElementType::f16, {}, 4, 4900,
     {0x3f651d20b56a2bd2u, 0x2afb1079256856a2u,
      0xc6cb9d8e8ae48ce6u, 0x1a28432ed672a10bu}},
    {"bf16", ElementType::bf16, {}, 4, 4900,
     {0xeb80c80d19c695acu, 0x9accca9ea5bb3a4cu,
      0x883c649462622500u, 0x96a9252017b8c70au}},
    {"three_bits", ElementType::f32, {{"bits", "3"}, {"seed", "7"}}, 17, 3000,
     {0xad2b9d8c32ad8b0du, 0xd235e92e59a091e6u,
      0x0718766c38d64c89u, 0x49277b69773e3beau}},
    {"twelve_bits", ElementType::f32, {{"bits", "12"}, {"down_shift", "3"}}, 5, 3000,
     {0xf09fdd563e5384cau, 0x1348741cdd030ebau,
      0x1fc8d328a3f7213fu, 0x1d9db8fd55353157u}},
    {"max", ElementType::f32, {{"budget", "max"}}, 4, 4900,
     {0x84a648a8daa44eb5u, 0x050dfdaebe8b8700u,
      0xa6795f3420818f7au, 0xd95248b4d569330du}},
    {"independent", ElementType::f32, {{"dither", "independent"}}, 4, 4900,
     {0xa3538fe5b18f4109u, 0xc6a52654dde260a6u,
      0xf9d266c3a3b7bcd4u, 0xa74b82e2963bf883u}},
    {"nearest", ElementType::f32, {{"dither", "nearest"}}, 4, 4900,
     {0xa3538fe5b18f4109u, 0x4b71ef1a22660644u,
      0x273b8b225ff703edu, 0x309e6a1e13bdc2bbu}},
    {"feedback", ElementType::f32, {{"error_feedback", "on"}}, 4, 4900,
     {0x480351c57d12bb8au, 0x6c597f4a71fcb13fu,
      0x9f38417d0485d842u, 0xf20c85ef421c8eb6u}},
    {"absolute", ElementType::f32, {{"abs_error", "0.01"}}, 3, 4900,
     {0u, 0x116704c9d9ce50cfu, 0x19960343320c39afu, 0x3ee8f51dc6cdb1f8u}},
    {"absolute_f64", ElementType::f64, {{"abs_error", "0.0001"}}, 3, 4900,
     {0u, 0x443466b69e5f98d3u, 0x1abc3a4dbe142963u, 0xaae8b685e903f415u}},
    {"relative_delta", ElementType::f32, {{"rel_error", "0.001"}, {"predict", "delta"}}, 3, 4900,
     {0xe2f3b81a224de660u, 0xcb405946bf44d95au,
      0x578182ed8dbe45d8u, 0x002e3f9dd61fb2b7u}},
    {"nmse", ElementType::f32, {{"nmse", "1e-3"}}, 9, 20000,
     {0xe65ba0848baf54c1u, 0xdbb8f6f06594fa37u,
      0x72d03d211017a649u, 0x67f0ea70979015deu}},
    {"nmse_f64", ElementType::f64, {{"nmse", "1e-9"}, {"dither", "independent"}}, 3, 4900,
     {0x40b836d8c0d2137eu, 0x784c0ee9ce068339u,
      0x450a4600fc56a756u, 0xcb96db61f939c00du}},
    {"nmse_f16", ElementType::f16, {{"nmse", "0.01"}, {"seed", "3"}}, 4, 70000,
     {0xfda4b905f59314a3u, 0xe286ae09ecabfc90u,
      0xa7ce9264e892d541u, 0xfe5d0fe7e49e615au}},
    {"sampled", ElementType::f32, {{"bits", "4"}}, 9, 20000,
     {0x9a9b3aee3f25ab41u, 0x0f68bc17fe2d47b3u,
      0x5d9f9da48aec897bu, 0x85597611cf90c2d2u}},
    {"sampled_f64", ElementType::f64, {{"error_feedback", "on"}}, 2, 20000,
     {0x806da82538463b16u, 0x8cb737b1046b9bb6u,
      0xa97125eb36e817d6u, 0xde9bd821796dbb20u}},
    {"sampled_f16", ElementType::f16, {{"dither", "nearest"}}, 4, 20000,
     {0x69f316c88a1c76beu, 0xb5ee1e50541a363cu,
      0x5f8104e950bde3fbu, 0xa05dd4a76b8de032u}},
    {"escape", ElementType::f32, {}, 3, 4900,
     {0xac50ab195082a1aeu, 0xe3626fdb9531cfc3u,
      0x74a13172a1ee435bu, 0x3f5b90ad2495978du}},
    {"300_ranks", ElementType::f32, {}, 300, 2100,
     {0x5d5fc67f139ca365u, 0x2560e094f12c4fb3u,
      0xcc8d4962f5f71065u, 0xbdd789ccb1dd706du}},
};
// clang-format on

class GoldenPacked : public GoldenSuite<4> {};

TEST_P(GoldenPacked, Payload) { check(hashes_of); }

/// So long that counts travel in units of two mini-blocks: what was agreed on, and the payload.
class GoldenPackedLong : public testing::TestWithParam<TestedTable> {};

TEST_P(GoldenPackedLong, Payload) {
  constexpr std::size_t elements = 65537 * 32 + 100;
  const Bytes some = to_bytes(ElementType::f32, golden_input(0, 20000));
  Bytes input(elements * sizeof(float));
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = some[i % some.size()];
  LoneRank rank({.make = make_packed,
                 .rank = 3,
                 .ranks = 65535,
                 .elements = elements,
                 .kernels = GetParam().table});
  rank.agree(input, 5);
  std::vector<std::uint64_t> words;
  for (const auto& payload : rank.payload(Form::wide))
    words.insert(words.end(), payload.begin(), payload.end());
  const GoldenHashes<2> found{hash_of(rank.agreed(1)), hash_of(words)};
  constexpr GoldenHashes<2> pinned{0x157b2213c9673cc1u, 0x153d8f4930ae74d7u};
  EXPECT_TRUE(found == pinned) << row_of(found);
}

INSTANTIATE_TEST_SUITE_P(Tables, GoldenPackedLong, testing::ValuesIn(tested_tables()), table_name);

INSTANTIATE_TEST_SUITE_P(All, GoldenPacked, GoldenPacked::all(goldens),
                         [](const auto& instance) { return golden_name(instance.param); });

}  // namespace
}  // namespace cohom::test
