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
     {0x15532e173b7559deu, 0xd0ad8ab6dd15c573u, 0xd37d3f536ecfda40u}},
    {"one_rank", ElementType::f32, {{"rank", "1"}}, 1, 4900,
     {0x671c56d3dd0f238bu, 0x764645f90c1d5505u, 0xe3c43a6463a090a1u}},
    {"feedback", ElementType::f32, {{"columns", "64"}, {"error_feedback", "on"}}, 3, 9900,
     {0x95150f50fb6de1d0u, 0x10912647aa89bebbu, 0x13e3c662c2df1d1au}},
    {"f64", ElementType::f64, {{"rank", "7"}, {"columns", "32"}, {"error_feedback", "on"}}, 2, 3001,
     {0x10111f61710b612fu, 0x30e5029392e35849u, 0x55a8cf507db0a9ccu}},
    {"f16", ElementType::f16, {{"columns", "16"}}, 2, 1000,
     {0x179c410f99a55c2fu, 0x35a611f8860e2f77u, 0x3e8257241afaa573u}},
    {"bf16", ElementType::bf16, {{"rank", "32"}, {"columns", "1024"}, {"error_feedback", "on"}}, 3,
     9900,
     {0xf02b742b01690bc8u, 0x6bbce6bc15c1a83cu, 0xe0604540bcfb9431u}},
    {"escape", ElementType::f32, {{"error_feedback", "on"}}, 2, 2000,
     {0x93d76fe148c689bau, 0x093c29f27ecfcf21u, 0x6e12085cae88b94fu}},
    {"continues", ElementType::f32, {{"columns", "64"}, {"error_feedback", "on"}}, 3, 9900,
     {0x473f62d474944bb5u, 0x951dfb2a8faafb89u, 0x29395371a94c4a34u}},
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
