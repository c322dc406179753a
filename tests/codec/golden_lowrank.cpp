// Golden hashes of lowrank's words and results: the wire format, pinned, for every instruction set.
// A difference means that ranks built before and after the change cannot talk to each other: it
// takes a new wire_format_version, not new numbers here.

#include "codecs/lowrank/lowrank.hpp"

#include "golden.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

namespace cohom::test {
namespace {

/// Hashes of: the basis's sum, the payload's sum, the result.
using Hashes = GoldenHashes<3>;

Hashes hashes_of(const GoldenCase<3>& golden, const kernels::KernelTable& table) {
  CodecHarness harness(golden_setup(make_lowrank, golden, table));
  std::vector<Bytes> inputs = golden_inputs(golden);
  if (golden.name == std::string_view("continues")) {  // behind a call with an outlier
    std::vector<Bytes> spoilt = inputs;
    const float infinity = std::numeric_limits<float>::infinity();
    std::memcpy(spoilt[0].data(), &infinity, sizeof infinity);
    harness.allreduce(inputs, 3);
    harness.allreduce(spoilt, 4);
  }
  const Bytes result = golden_allreduce(harness, inputs);
  return {hash_of(harness.sum(1)), hash_of(harness.sum(2)), hash_of(result)};
}

// clang-format off
const GoldenCase<3> goldens[] = {
    {"defaults", ElementType::f32, {}, 4, 9900,
     {0xdfff99fef492c31cu, 0x2f77bf713684199bu, 0x8a5a8b346aca0471u}},
    {"one_rank", ElementType::f32, {{"rank", "1"}}, 1, 4900,
     {0x14828dfd221cd408u, 0xed0e09f12910980fu, 0x8fd6701bcf57fc16u}},
    {"feedback", ElementType::f32, {{"columns", "64"}, {"error_feedback", "on"}}, 3, 9900,
     {0xe6f7f7078f7ac89du, 0xdfeeccb06e1d0d70u, 0x63eef3eafd7cd96au}},
    {"f64", ElementType::f64, {{"rank", "7"}, {"columns", "32"}, {"error_feedback", "on"}}, 2, 3001,
     {0x2724d6fd109e4a34u, 0xedfbb95721554fd2u, 0xf84ddf263b31c0d5u}},
    {"f16", ElementType::f16, {{"columns", "16"}}, 2, 1000,
     {0x511b88145b256d83u, 0x4746fb88dcd86f26u, 0x62c549a44b458694u}},
    {"bf16", ElementType::bf16, {{"rank", "32"}, {"columns", "1024"}, {"error_feedback", "on"}}, 3,
     9900,
     {0xf02b742b01690bc8u, 0x6bbce6bc15c1a83cu, 0xe0604540bcfb9431u}},
    {"escape", ElementType::f32, {{"error_feedback", "on"}}, 2, 2000,
     {0x93d76fe148c689bau, 0x093c29f27ecfcf21u, 0x6e12085cae88b94fu}},
    {"continues", ElementType::f32, {{"columns", "64"}, {"error_feedback", "on"}}, 3, 9900,
     {0x5b3ee1e684858d01u, 0x06f36459f871e641u, 0xedc6568da8786f91u}},
    {"few_rows", ElementType::f32, {{"columns", "1024"}}, 2, 3001,
     {0x8f68089ff8050927u, 0xd5a61511c0b84284u, 0x07edbd01e5505d42u}},
};
// clang-format on

class GoldenLowrank : public GoldenSuite<3> {};

TEST_P(GoldenLowrank, Payload) { check(hashes_of); }

INSTANTIATE_TEST_SUITE_P(All, GoldenLowrank, GoldenLowrank::all(goldens),
                         [](const auto& instance) { return golden_name(instance.param); });

}  // namespace
}  // namespace cohom::test
