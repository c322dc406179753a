// Golden hashes of the words and results of exact and sparse+exact: the wire format, pinned, for
// every instruction set. A difference means that ranks built before and after the change cannot
// talk to each other: it takes a new wire_format_version, not new numbers here. (Results have no
// choice: they are the correctly rounded sums, which codec.exact_rounding checks.)

#include "codecs/exact/exact.hpp"
#include "codecs/sparse_exact/sparse_exact.hpp"

#include "golden.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace cohom::test {
namespace {

/// Hashes of: the agreed header, rank 1's narrow payload, its wide payload, the sum of the round of
/// wide mini-blocks, the result. (Those of the index are sparse's.) Vectors in one round have but
/// the last three: rank 1's payload, the payloads' sum, the result.
using Hashes = GoldenHashes<5>;
using Golden = GoldenCase<5>;

/// As for a vector too short for an agreement.
std::unique_ptr<Codec> make_short(const CodecContext& context) {
  CodecContext of_few = context;
  of_few.elements = 1;
  return exact_codec().make(of_few);
}

/// Whole numbers again, with mini-blocks of what exact treats apart: numbers far from each other,
/// infinities and NaNs, and -0 on all ranks or on some.
std::vector<Bytes> inputs_of(const Golden& golden) {
  std::vector<Bytes> inputs;
  const double far = golden.type == ElementType::f16 ? 0x1p-24 : 0x1p-120;
  for (int rank = 0; rank < golden.ranks; ++rank) {
    auto values = golden_input(rank, golden.elements);
    for (std::size_t i = 40; i < values.size(); i += 700) values[i] = far;
    values[100] = rank == 0 ? std::numeric_limits<double>::infinity() : 1;
    values[120] = rank == 1 ? std::numeric_limits<double>::quiet_NaN() : 1;
    for (std::size_t i = 520; i < 560; ++i) values[i] = -0.0;
    if (rank == 2 % golden.ranks)
      for (std::size_t i = 540; i < 560; ++i) values[i] = 0.0;
    if (std::string_view(golden.name).starts_with("sparse"))
      for (std::size_t i = 1000; i < values.size(); ++i)
        if (i * 2654435761u % 64 != std::size_t(rank)) values[i] = 0.0;
    inputs.push_back(to_bytes(golden.type, values));
  }
  return inputs;
}

Hashes hashes_of(const Golden& golden, const kernels::KernelTable& table) {
  const std::string_view name = golden.name;
  const bool in_one_round = name.starts_with("short");
  auto setup = golden_setup(in_one_round                 ? make_short
                            : name.starts_with("sparse") ? sparse_exact_codec().make
                                                         : exact_codec().make,
                            golden, table);
  setup.mean = name.ends_with("mean");
  const auto inputs = inputs_of(golden);
  const std::size_t last = std::size_t(golden.ranks) - 1;
  const int rank = static_cast<int>(std::min<std::size_t>(1, last));
  CodecHarness narrow(setup);
  const Bytes result = narrow.allreduce(inputs);
  if (in_one_round)
    return {0, 0, hash_of(narrow.contribution(0, rank)), hash_of(narrow.sum(0)), hash_of(result)};
  setup.form = Form::wide;
  CodecHarness wide(setup);
  EXPECT_TRUE(wide.allreduce(inputs) == result);
  const auto payload = static_cast<int>(narrow.codec(0).payload_round());
  return {hash_of(narrow.sum(payload - 1)), hash_of(narrow.contribution(payload, rank)),
          hash_of(wide.contribution(payload, rank)), hash_of(narrow.sum(payload + 1)),
          hash_of(result)};
}

// clang-format off
const Golden goldens[] = {
    {"f32", ElementType::f32, {}, 4, 9900,
     {0x207a055e17f85436u, 0xd0ce09c6e34f530eu, 0x09d2213421327fc7u,
      0x206712e25f797ad5u, 0xcbc807178a10795bu}},
    {"f32_mean", ElementType::f32, {}, 3, 5003,
     {0xe561a13612c0c8ceu, 0x3c98dc2b698331c6u, 0x785a06bc3a543d23u,
      0x0461f85bc76932d3u, 0x7a56651fa09168f1u}},
    {"one_rank", ElementType::f32, {}, 1, 4900,
     {0x14073f3351685c26u, 0x6053135c8326ce59u, 0x6053135c8326ce59u,
      0x27f5e75091630348u, 0x7bf81e80d90d3df2u}},
    {"f64", ElementType::f64, {}, 3, 9900,
     {0x8f46d668f32ca39cu, 0x5da36908b176c863u, 0x5d304839015e5d31u,
      0x132742235dc52abau, 0x3c6967f0e464457du}},
    {"f64_mean", ElementType::f64, {}, 17, 3001,
     {0x1b1d15a2d5688a8eu, 0xd9e92c7a95d09c86u, 0xe027b5a495bd78fbu,
      0xf16b225a77692e66u, 0x7f52ad37e1a91d65u}},
    {"f16", ElementType::f16, {}, 4, 9900,
     {0x61669c32551ca642u, 0xb21b902478aaed3du, 0xc7cc3d69edd3fcfeu,
      0xe3c762f343ef1e91u, 0x9869fb937eb4c435u}},
    {"bf16", ElementType::bf16, {}, 5, 9900,
     {0x1da4d81086bb6630u, 0x95c73fd104204da5u, 0x4f2eca9b9e0e7e1bu,
      0xe3ac1341d30852e1u, 0xcedb3153a32a37ffu}},
    {"sparse_f32", ElementType::f32, {}, 4, 40000,
     {0x6f36e69c1fe9afb6u, 0xa7e50a7228ba8e12u, 0x3a5da5431d543d5cu,
      0xccb20664413f475du, 0x3d96abcb175f7cdau}},
    {"sparse_f64_mean", ElementType::f64, {{"index", "flat"}}, 3, 20000,
     {0x214590e2efd1e1ffu, 0xa378fcd28b624bc4u, 0x2b36b5441dbf6c80u,
      0xbd73d1a395e00689u, 0x470944c9b7aec4d8u}},
    {"sparse_f16", ElementType::f16, {}, 17, 20000,
     {0x6b06d82084e0559du, 0x7b4d8a28592851f7u, 0x547a8388c547e501u,
      0x7788ade457325f61u, 0x8c9c1926f214d5b3u}},
    {"sparse_bf16_one_rank", ElementType::bf16, {}, 1, 20000,
     {0x941ebc76dacd3670u, 0x5839eb0b412c7216u, 0x5839eb0b412c7216u,
      0xf4ca9579aadfdf5du, 0xedab58c72e7b2dbbu}},
    {"short_f32", ElementType::f32, {}, 4, 600,
     {0, 0, 0x9a9463c95439bdb5u, 0x20017b0a1c60ed31u, 0xd2f0c855b9f5526eu}},
    {"short_f64_mean", ElementType::f64, {}, 3, 600,
     {0, 0, 0x142b2240111f6561u, 0xf3890667436599e7u, 0xd8824a64a5f38766u}},
    {"short_f16", ElementType::f16, {}, 17, 600,
     {0, 0, 0x267c578cd6b846f3u, 0x6919e8edf4f09a7au, 0x7ddb85156dd7795fu}},
    {"short_bf16", ElementType::bf16, {}, 2, 600,
     {0, 0, 0x9283687492fb3512u, 0x6f21bc6fade886e9u, 0x9bf6f426e5f0ec78u}},
};
// clang-format on

class GoldenExact : public GoldenSuite<5> {};

TEST_P(GoldenExact, Payload) { check(hashes_of); }

/// Those that have the kernels.
std::vector<TestedTable> exact_tables() {
  auto all = tested_tables();
  std::erase_if(all, [](const TestedTable& tested) { return !complete(tested.table->exact); });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenExact,
                         testing::Combine(testing::ValuesIn(exact_tables()),
                                          testing::ValuesIn(goldens)),
                         [](const auto& instance) { return golden_name(instance.param); });

}  // namespace
}  // namespace cohom::test
