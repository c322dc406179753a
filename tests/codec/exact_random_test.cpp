// exact: random vectors over the whole range of exponents, in whole calls without a transport,
// against a superaccumulator (which codec.exact_rounding holds to MPFR). scripts/long-check exact
// runs 10^8 elements; by default it is a million.

#include "codec_harness.hpp"
#include "codecs/exact/exact.hpp"
#include "exact_data.hpp"
#include "kernels/table/kernel_table.hpp"
#include "same_bytes.hpp"
#include "superaccumulator.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

/// A number of the environment.
std::uint64_t number_named(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::stoull(text) : otherwise;
}

std::unique_ptr<Codec> make_short(const CodecContext& context) {
  CodecContext of_few = context;
  of_few.elements = 1;
  return exact_codec().make(of_few);
}

struct RandomCase {
  ExactProblem problem;
  HarnessSetup setup;
  std::string name;
};

/// Decided by the seed alone.
RandomCase random_case(std::uint64_t seed) {
  constexpr int ranks[] = {1, 2, 2, 3, 3, 4, 5, 8, 17};
  std::mt19937_64 random(seed);
  const auto isas = kernels::supported_isas();
  RandomCase drawn;
  ExactProblem& problem = drawn.problem;
  problem = {all_element_types[seed % 4], ranks[random() % std::size(ranks)], 4000 + random() % 200,
             random() % 2 == 0, seed};
  const kernels::Isa isa = isas[random() % isas.size()];
  const bool in_one_round = random() % 16 == 0;
  drawn.setup = {.make = in_one_round ? make_short : exact_codec().make,
                 .ranks = problem.ranks,
                 .type = problem.type,
                 .mean = problem.mean,
                 .form = random() % 2 == 0 ? Form::narrow : Form::wide,
                 .in_place = random() % 2 == 0,
                 .chunks = 1 + random() % 3,
                 .segment = 1024 * (1 + random() % 4),
                 .kernels = &kernels::kernel_table(isa)};
  drawn.name = problem.name() + ", " + std::string(name_of(isa)) +
               (in_one_round                       ? ", in one round"
                : drawn.setup.form == Form::narrow ? ", narrow"
                                                   : "");
  return drawn;
}

TEST(ExactRandom, IsCorrectlyRounded) {
  const std::uint64_t from = number_named("COHOM_EXACT_FROM", 0);
  const std::uint64_t cases = number_named("COHOM_EXACT_CASES", 250);
  std::uint64_t elements = 0;
  for (std::uint64_t seed = from; seed < from + cases; ++seed) {
    const RandomCase drawn = random_case(seed);
    const auto inputs = random_exact_vectors(drawn.problem);
    CodecHarness harness(drawn.setup);
    EXPECT_TRUE(same_bytes(harness.allreduce(inputs),
                           accumulated_sums(drawn.problem.type, inputs, drawn.problem.divisor())))
        << drawn.name;
    elements += drawn.problem.count;
  }
  std::cout << elements << " elements of " << cases << " cases from " << from << " on\n";
}

}  // namespace
}  // namespace cohom::test
