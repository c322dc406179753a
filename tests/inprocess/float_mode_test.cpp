// The floating-point mode of the caller: it changes no bit of a result, and it is the caller's
// again after every call.

#include "base/float_mode.hpp"

#include "codec_specs.hpp"
#include "elements.hpp"
#include "float_modes.hpp"
#include "loopback_ranks.hpp"
#include "same_bytes.hpp"
#include "thoroughness.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::test {
namespace {

constexpr int ranks = 3;
constexpr std::size_t count = 1500;

/// Normal values, some of them and one whole block of 256 denormal in the type or near it.
std::vector<Bytes> inputs_of(ElementType type) {
  const double tiny = type == ElementType::f64 ? 1e-308 : type == ElementType::f16 ? 1e-5 : 1e-38;
  std::vector<Bytes> inputs;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    auto values = normal_values(count, 400 + rank);
    for (std::size_t i = 0; i < count; ++i)
      if (i % 7 == 0 || (i >= 512 && i < 768)) values[i] *= tiny;
    inputs.push_back(to_bytes(type, values));
  }
  return inputs;
}

/// Sets the mode of this thread, and expects to find it, flags included, after whatever is done.
class CallersMode {
 public:
  explicit CallersMode(const FloatMode* mode) : name_(mode != nullptr ? mode->name : "default") {
    std::feclearexcept(FE_ALL_EXCEPT);
    if (mode != nullptr) mode->set();
    control_ = float_control();
  }
  template <class Function>
  void keeps(const char* what, Function&& function) const {
    function();
    EXPECT_EQ(float_control(), control_) << what << " changed the mode: " << name_;
  }

 private:
  const char* name_;
  std::uint64_t control_;
};

/// Every way of a call, one after the other. What they gave, appended.
Bytes all_calls(Communicator& communicator, const Bytes& input, ElementType type,
                const Options& options, const CallersMode& mode) {
  Bytes results(4 * input.size());
  const auto result = [&](std::size_t number) { return results.data() + number * input.size(); };
  mode.keeps("a plan's life", [&] {
    AllreducePlan plan(communicator, count, type, options);
    mode.keeps("execute", [&] { plan.execute(input.data(), result(0)); });
    std::vector<std::byte> state;
    mode.keeps("save_state", [&] { state = plan.save_state(); });
    mode.keeps("start", [&] { plan.start(input.data(), result(1)); });
    mode.keeps("test", [&] {
      while (!plan.test()) std::this_thread::yield();
    });
    mode.keeps("restore_state", [&] { plan.restore_state(state); });
    plan.start(input.data(), result(2));  // finished by the destructor
  });
  Options named = options;
  named.buffer = "b";
  Request request;
  mode.keeps("allreduce_start", [&] {
    request = allreduce_start(input.data(), result(3), count, type, communicator, named);
  });
  mode.keeps("progress", [&] { communicator.progress(); });
  mode.keeps("wait", [&] { request.wait(); });
  mode.keeps("reset_state", [&] { communicator.reset_state("b"); });
  return results;
}

/// The results of each rank; rank r is called in mode modes[r], null being the default one.
std::vector<Bytes> results_in(const std::vector<const FloatMode*>& modes,
                              const std::vector<Bytes>& inputs, ElementType type,
                              const Options& options) {
  std::vector<Bytes> results(ranks);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const auto r = std::size_t(rank);
    results[r] = all_calls(communicator, inputs[r], type, options, CallersMode(modes[r]));
  });
  return results;
}

class FloatModes : public testing::TestWithParam<ElementType> {};

TEST_P(FloatModes, OfTheCallerChangeNoBitAndAreKept) {
  const ElementType type = GetParam();
  const auto inputs = inputs_of(type);
  std::size_t turn = 0;
  CaseShare share(1, races_only ? 5 : 2);
  for (const CodecSpec& codec : specs_for(ranks)) {
    if (share.skips_this()) continue;
    const auto algorithms = algorithms_for(codec.spec);
    const Options options{.codec = std::string(codec.spec),
                          .algorithm = std::string(algorithms[turn++ % algorithms.size()].name),
                          .segment = 512};
    SCOPED_TRACE(options.codec + " by " + options.algorithm);
    // The odd ones first: tables that are kept for the process would hide how they were made.
    std::vector<std::pair<std::string, std::vector<Bytes>>> found;
    for (const FloatMode& mode : float_modes) {
      const Watchdog watchdog("mode");
      const FloatMode* const odd = &mode;
      found.emplace_back(std::string(mode.name) + " on all ranks",
                         results_in({odd, odd, odd}, inputs, type, options));
      found.emplace_back(std::string(mode.name) + " on rank 1",
                         results_in({nullptr, odd, nullptr}, inputs, type, options));
    }
    const auto expected = results_in({nullptr, nullptr, nullptr}, inputs, type, options);
    for (const auto& [name, results] : found)
      for (std::size_t rank = 0; rank < ranks; ++rank)
        EXPECT_TRUE(same_bytes(results[rank], expected[rank])) << name << ", result of " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, FloatModes, testing::Values(ElementType::f32, ElementType::f64),
                         [](const auto& type) { return std::string(name_of(type.param)); });

/// Values that the compiler does not know.
volatile double smallest = std::numeric_limits<double>::denorm_min();
volatile double normal = std::numeric_limits<double>::min();
volatile double one = 1, two = 2, three = 3, ten = 10;

/// What every mode but the default one gives otherwise, or traps on; as bits, because a mode may
/// take part in comparing, too.
std::vector<std::uint64_t> arithmetic() {
  const double results[] = {normal / two, smallest * one, one / three, -one / three, one / ten};
  std::vector<std::uint64_t> bits(std::size(results));
  std::memcpy(bits.data(), results, sizeof results);
  return bits;
}

TEST(DefaultFloatMode, IsIeeesAndGivesBackTheCallers) {
  const auto expected = arithmetic();
  for (const FloatMode& mode : float_modes) {
    std::jthread([&] {
      const CallersMode callers(&mode);
      callers.keeps("nested guards", [&] {
        const DefaultFloatMode outer;
        const DefaultFloatMode inner;
        EXPECT_EQ(arithmetic(), expected) << mode.name;
        volatile double zero = 0;
        const double infinite = one / zero;  // does not trap
        EXPECT_EQ(infinite, std::numeric_limits<double>::infinity());
      });
    });
  }
}

/// Otherwise the tests above would say nothing.
TEST(DefaultFloatMode, IsNotWhatTheTestedModesAre) {
  const auto expected = arithmetic();
  for (const FloatMode& mode : float_modes) {
    if (std::string_view(mode.name) == "exceptions trap") continue;  // it would
    std::jthread([&] {
      mode.set();
      EXPECT_NE(arithmetic(), expected) << mode.name;
    });
  }
}

}  // namespace
}  // namespace cohom::test
