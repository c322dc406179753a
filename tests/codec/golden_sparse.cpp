// Golden hashes of words and results of sparse, sparse+thc, topk and sketch: the wire format,
// pinned, for every instruction set. A difference means that ranks built before and after the
// change cannot talk to each other: it takes a new wire_format_version, not new numbers here.

#include "codecs/sketch/sketch.hpp"
#include "codecs/sparse/sparse.hpp"
#include "codecs/sparse_thc/sparse_thc.hpp"
#include "codecs/topk/topk.hpp"

#include "golden.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cohom::test {
namespace {

/// Hashes of: the first round's sum, the payload's sum, the result.
using Hashes = GoldenHashes<3>;

using Golden = GoldenCase<3>;

/// Whole numbers again. How many are not zero goes from none to all along the vector.
std::vector<Bytes> inputs_of(const Golden& golden) {
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < golden.ranks; ++rank) {
    auto values = golden_input(rank, golden.elements);
    std::mt19937_64 engine(std::uint64_t(rank) + 100);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (engine() % 1024 >= 1100 * i / values.size() - 50) values[i] = 0;
    for (std::size_t i = 0; i < values.size() / 8; ++i) values[i] = 0;
    // A block that rank 0 calls full, with zeros that all ranks have.
    if (rank == 0) std::fill_n(values.begin() + 1536, 512, 3.0);
    for (std::size_t i = 1541; i < 2048; i += 64) values[i] = 0;
    inputs.push_back(to_bytes(golden.type, values));
  }
  return inputs;
}

Hashes hashes_of(const Golden& golden, const kernels::KernelTable& table) {
  const std::string_view name = golden.name;
  CodecHarness harness(golden_setup(name.starts_with("thc")      ? make_sparse_thc
                                    : name.starts_with("sketch") ? make_sketch
                                    : name.starts_with("topk")   ? make_topk
                                                                 : make_sparse,
                                    golden, table));
  const Bytes result = harness.allreduce(inputs_of(golden));
  const int payload = harness.codec(0).payload_round();
  return {hash_of(harness.sum(0)), hash_of(harness.sum(payload)), hash_of(result)};
}

// clang-format off
const Golden goldens[] = {
    {"defaults", ElementType::f32, {}, 4, 9900,
     {0xfdeb974d8e804d79u, 0x2196890bed6b25f0u, 0x20d591ab4fae0ed6u}},
    {"flat", ElementType::f32, {{"index", "flat"}}, 4, 9900,
     {0x1ec0b896cf8f9a66u, 0x18cbf78f06c91f81u, 0x20d591ab4fae0ed6u}},
    {"one_rank", ElementType::f32, {}, 1, 4900,
     {0xa0ba4731af2f617du, 0xdc3f786872e73c0cu, 0xfe988c7a94ba18e6u}},
    {"f64", ElementType::f64, {}, 3, 9900,
     {0x41200fadbeb976beu, 0x4d5db46da3f25d92u, 0x5eb7347a1e7b86e8u}},
    {"f16", ElementType::f16, {}, 4, 9900,
     {0x0c9d04c103472b53u, 0x0aa31a82c3782080u, 0x67e70a18b46c6617u}},
    {"bf16", ElementType::bf16, {{"index", "flat"}}, 17, 3001,
     {0x0a9fc339c09ea584u, 0xfe5b151d53180910u, 0xf2dd958918ff6591u}},
    {"thc", ElementType::f32, {}, 4, 40000,
     {0xafdb23eb5a5202b1u, 0x3342e7be6a923255u, 0xcc9bb82e235e1aa8u}},
    {"thc_f16", ElementType::f16, {{"index", "flat"}, {"bits", "5"}}, 3, 20000,
     {0xb67209169f1d409au, 0x34a16ff030ae3637u, 0x3ea9ffb6c626c4aeu}},
    {"sketch", ElementType::f32, {}, 4, 40000,
     {0x00e4a13e032e5b8fu, 0x511141bf46677080u, 0xc07bbbd9719a2ca2u}},
    {"sketch_too_small", ElementType::f32, {{"gamma", "1.1"}, {"seed", "3"}}, 17, 20000,
     {0x1c7037b0d07d5363u, 0x1d1397ad5828ce26u, 0x9fbbd642641a7f67u}},
    {"sketch_f32", ElementType::bf16, {{"cells", "f32"}, {"index", "flat"}}, 3, 20000,
     {0xb67209169f1d409au, 0x5675e2952abe0f02u, 0xb06e58120cf1a2beu}},
    {"sketch_f64", ElementType::f64, {}, 2, 20000,
     {0xbca21ef09ada3a23u, 0x19ca77eb3cf732a6u, 0xd690edb1a9dafd51u}},
    {"sketch_size", ElementType::f32, {{"size", "1/3"}}, 4, 40000,
     {0x00e4a13e032e5b8fu, 0xb5bf11b30ce8b8dbu, 0xc07bbbd9719a2ca2u}},
    {"sketch_bloom", ElementType::f32,
     {{"false_positives", "0.5"}, {"index", "bloom"}, {"size", "0.25"}}, 3, 20000,
     {0x26e0814b496dd8a8u, 0x5d9e29db77e40655u, 0xa42a771a64d0f230u}},
    {"bloom", ElementType::f32, {{"index", "bloom"}, {"false_positives", "0.5"}}, 4, 9900,
     {0xd8acdc9150d8d1dbu, 0xcfddcbdb9343eaadu, 0x20d591ab4fae0ed6u}},
    {"topk", ElementType::f32, {{"fraction", "0.1"}}, 4, 9900,
     {0xe4aaa8e5d02cd27au, 0xe8f6fb383f31c710u, 0x55359d067543b260u}},
    {"topk_threshold", ElementType::f32, {{"fraction", "0.02"}, {"select", "threshold"}}, 3, 40000,
     {0x7a69ad57b3474d31u, 0x76416c6c9ba9ceb2u, 0x67ef407df2f6bf27u}},
    {"topk_f64", ElementType::f64,
     {{"fraction", "0.05"}, {"select", "threshold"}, {"index", "flat"},
      {"error_feedback", "on"}}, 2, 9900,
     {0xe5b6a0f4d2611b31u, 0x021d271ddec17164u, 0x08937549b75bc6eau}},
    {"topk_bf16", ElementType::bf16, {{"fraction", "0.3"}, {"error_feedback", "on"}}, 3, 3001,
     {0xa779b512aeab336eu, 0x7d40c6f8a8a41244u, 0x1ba3203b7c60592du}},
};
// clang-format on

class GoldenSparse : public GoldenSuite<3> {};

TEST_P(GoldenSparse, Payload) { check(hashes_of); }

INSTANTIATE_TEST_SUITE_P(All, GoldenSparse, GoldenSparse::all(goldens),
                         [](const auto& instance) { return golden_name(instance.param); });

}  // namespace
}  // namespace cohom::test
