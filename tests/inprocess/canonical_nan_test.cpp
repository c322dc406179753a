// Whatever bits a NaN comes in with, and whoever adds it, every rank writes the same canonical one.

#include "codec_specs.hpp"
#include "elements.hpp"
#include "loopback_ranks.hpp"
#include "same_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "thoroughness.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace cohom::test {
namespace {

constexpr std::size_t count = 600;
constexpr std::size_t spoilt = 17;

/// Zeros, and on every rank a NaN with all bits set, the sign's and the payload's too.
Bytes input_of(ElementType type) {
  Bytes input(count * size_of(type));
  std::fill_n(input.begin() + spoilt * size_of(type), size_of(type), std::byte{0xff});
  return input;
}

Bytes expected_of(ElementType type) {
  std::vector<double> values(count);
  values[spoilt] = std::numeric_limits<double>::quiet_NaN();
  return to_bytes(type, values);
}

class CanonicalNan : public testing::TestWithParam<ElementType> {};

TEST_P(CanonicalNan, OfEveryCodecAndAlgorithm) {
  const ElementType type = GetParam();
  for (int ranks : {1, 2, 3})
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      CaseShare share(1, 3);
      for (const CodecSpec& codec : specs_for(ranks))
        for (const AlgorithmRow& algorithm : algorithms_for(codec.spec))
          for (ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
            if (share.skips_this()) continue;
            AllreducePlan plan(communicator, count, type,
                               {.codec = std::string(codec.spec),
                                .algorithm = std::string(algorithm.name),
                                .op = op});
            Bytes input = input_of(type);
            Bytes output(input.size());
            plan.execute(input.data(), output.data());
            EXPECT_TRUE(same_bytes(output, expected_of(type)))
                << codec.spec << " " << algorithm.name << " rank " << rank << " of " << ranks;
            plan.execute(input.data(), input.data());
            EXPECT_TRUE(same_bytes(input, expected_of(type)))
                << codec.spec << " " << algorithm.name << " in place, rank " << rank;
          }
    });
}

INSTANTIATE_TEST_SUITE_P(Types, CanonicalNan, testing::ValuesIn(tested_types()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

/// An aggregator that adds with whatever the machine below has: its NaNs differ from rank to rank.
class ForeignReduction final : public Reduction {
 public:
  ForeignReduction(std::unique_ptr<Reduction> real, int rank)
      : real_(std::move(real)), rank_(rank) {}

  void start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum, Merge merge,
             std::uint64_t cookie) override {
    sum_ = sum;
    real_->start(contribution, sum, merge, cookie);
  }
  std::size_t poll(std::span<Completion> out) override {
    const std::size_t done = real_->poll(out);
    const std::uint32_t nan = 0xffc00000u + std::uint32_t(rank_);
    if (done != 0)
      std::memcpy(std::as_writable_bytes(sum_).data() + spoilt * sizeof nan, &nan, sizeof nan);
    return done;
  }

 private:
  std::unique_ptr<Reduction> real_;
  int rank_;
  std::span<std::uint64_t> sum_;
};

class ForeignAggregator final : public Aggregator {
 public:
  ForeignAggregator(std::shared_ptr<Aggregator> real, int rank)
      : real_(std::move(real)), rank_(rank) {}

  [[nodiscard]] std::string_view name() const override { return "foreign"; }
  [[nodiscard]] bool supports(Merge merge) const override { return real_->supports(merge); }
  [[nodiscard]] bool ready() override { return real_->ready(); }
  [[nodiscard]] bool may_fail() const override { return real_->may_fail(); }
  std::unique_ptr<Reduction> open(std::uint64_t call, int round, std::size_t reductions) override {
    return std::make_unique<ForeignReduction>(real_->open(call, round, reductions), rank_);
  }

 private:
  std::shared_ptr<Aggregator> real_;
  int rank_;
};

TEST(CanonicalNanOfAggregators, IsMadeByTheDecoder) {
  LoopbackHub hub(2);
  on_ranks(2, [&](int rank, Communicator&) {
    Communicator communicator(hub.transport(rank), {.fabric = std::make_shared<ForeignAggregator>(
                                                        hub.native_reductions(rank), rank)});
    AllreducePlan plan(communicator, count, ElementType::f32,
                       {.codec = "raw", .algorithm = "fabric"});
    Bytes input(count * 4);
    Bytes output(count * 4);
    plan.execute(input.data(), output.data());
    EXPECT_TRUE(same_bytes(output, expected_of(ElementType::f32))) << "rank " << rank;
    plan.execute(input.data(), input.data());
    EXPECT_TRUE(same_bytes(input, expected_of(ElementType::f32))) << "in place, rank " << rank;
  });
}

}  // namespace
}  // namespace cohom::test
