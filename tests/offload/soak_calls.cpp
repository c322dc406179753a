#include "soak_calls.hpp"

#include "nasty_values.hpp"
#include "plan/selector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace cohom::test {

namespace {

constexpr std::string_view integer_codecs[] = {"thc",
                                               "thc:levels=full",
                                               "thc:levels=full,lane=16",
                                               "thc:scale=global",
                                               "signcount",
                                               "signcount:vote=majority",
                                               "marsit",
                                               "sketch",
                                               "sketch:size=0.3,index=bloom",
                                               "sparse+thc"};
constexpr std::string_view codecs_with_state[] = {
    "thc:error_feedback=on", "signcount:error_feedback=on", "marsit:compensation=on,period=10"};
/// Their sums are floats, or change their length on the way: no switch adds them.
constexpr std::string_view float_codecs[] = {"raw", "packed", "packed:bits=8", "sparse",
                                             "sparse:index=bloom"};

bool starts_with_packed(std::string_view codec) { return codec.starts_with("packed"); }

/// Sums of floats depend on the order of additions, unless all of them are exact.
bool adds_floats(const SoakCall& call) {
  return std::ranges::find(float_codecs, call.codec) != std::end(float_codecs) ||
         (call.codec.starts_with("sketch") && call.type == ElementType::f64);
}

/// Zeros, and numbers of which floats of any type hold all sums.
std::vector<double> small_integers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<double> values(count);
  for (double& value : values)
    if (engine() % 4 == 0) value = static_cast<double>(engine() % 17) - 8;
  return values;
}

}  // namespace

std::string SoakCall::text() const {
  return fmt::format("{} by {}, {} {}, {}, segment {}, {}, {}, seed {}", codec, algorithm, count,
                     name_of(type), name_of(op), segment, in_place ? "in place" : "out of place",
                     plan < 0 ? std::string("plain") : fmt::format("plan {}", plan), seed);
}

Options SoakCall::options(const std::string& aggregator) const {
  return {.codec = codec,
          .algorithm = algorithm,
          .op = op,
          .segment = segment,
          .aggregator = aggregator};
}

Options SoakCall::reference_options(int ranks) const {
  Options options = this->options({});
  const bool bypassed =
      algorithm == "auto" &&
      select_algorithm("auto", {.codec = codec, .bytes = count * size_of(type), .ranks = ranks})
          .bypass;
  if (!bypassed && !starts_with_packed(codec)) options.algorithm = "ring";
  return options;
}

Bytes SoakCall::input(int rank) const {
  const std::uint64_t own = seed * 64 + static_cast<std::uint64_t>(rank);
  switch (values) {
    case Values::normal: return to_bytes(type, normal_values(count, own));
    case Values::nasty: return to_bytes(type, nasty_values(count, own));
    case Values::small_integers: break;
  }
  return to_bytes(type, small_integers(count, own));
}

std::vector<SoakCall> SoakCalls::next_batch() {
  std::vector<SoakCall> batch(1 + below(4));
  std::array<bool, plans> busy{};
  for (SoakCall& call : batch) {
    const std::size_t slot = below(plans);
    const bool by_plan = one_in(2) && !busy[slot];
    busy[slot] |= by_plan;
    call = by_plan ? draw_of_plan(static_cast<int>(slot)) : draw(false);
    call.seed = random_() >> 8;
    call.in_place = one_in(2);
  }
  return batch;
}

SoakCall SoakCalls::draw_of_plan(int slot) {
  SoakCall& plan = plans_[static_cast<std::size_t>(slot)];
  const bool new_plan = plan.codec.empty() || one_in(8);
  if (new_plan) {
    plan = draw(true);
    plan.plan = slot;
  }
  SoakCall call = plan;
  call.new_plan = new_plan;
  return call;
}

SoakCall SoakCalls::draw(bool may_keep_state) {
  const auto one_of = [this](const auto& names) {
    return std::string(names[below(std::size(names))]);
  };
  SoakCall call;
  const std::uint64_t kind = below(16);
  call.codec = kind < 4                     ? one_of(float_codecs)
               : kind < 7 && may_keep_state ? one_of(codecs_with_state)
                                            : one_of(integer_codecs);
  constexpr std::string_view algorithms[] = {"offload", "offload", "offload", "offload",
                                             "auto",    "auto",    "ring",    "direct"};
  call.algorithm = one_of(algorithms);
  if (starts_with_packed(call.codec) && call.algorithm == "offload") call.algorithm = "auto";
  call.type = all_element_types[below(std::size(all_element_types))];
  call.count = draw_count();
  call.op = one_in(2) ? ReduceOp::sum : ReduceOp::mean;
  call.segment = one_in(2) ? 0 : std::max<std::size_t>(1024 << below(6), call.count / 64);
  call.values = adds_floats(call) ? SoakCall::Values::small_integers
                : one_in(4)       ? SoakCall::Values::nasty
                                  : SoakCall::Values::normal;
  return call;
}

/// 0, 1, beside a power of two, anything up to 256 Ki, and now and then four times as many, so that
/// faults meet calls in the middle.
std::size_t SoakCalls::draw_count() {
  switch (below(16)) {
    case 0: return below(2);
    case 1:
    case 2: return (std::size_t{256} << below(8)) + below(3) - 1;
    case 3: return below(std::uint64_t{1} << 20);
    default: return below(std::uint64_t{2} << below(18));
  }
}

}  // namespace cohom::test
