#include "bad_calls.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <cstddef>
#include <limits>
#include <utility>

namespace cohom::test {

namespace {

constexpr std::size_t count = 1000;

bool is_last(int rank, const Communicator& communicator) {
  return rank == communicator.ranks() - 1;
}

void reduce(Communicator& communicator, const Options& options, std::size_t elements = count,
            ElementType type = ElementType::f32) {
  std::vector<std::byte> data(elements * size_of(type));
  allreduce(data.data(), data.data(), elements, type, communicator, options);
}

/// The last rank gives `odd`, the others `usual`.
BadCall differing(std::string name, std::vector<std::string> words, const Options& usual,
                  const Options& odd) {
  return {std::move(name), ErrorKind::mismatch, std::move(words),
          [=](int rank, Communicator& communicator) {
            reduce(communicator, is_last(rank, communicator) ? odd : usual);
          }};
}

/// The last rank gives `odd`; the error has its number and `words`.
BadCall wrong_option(std::string name, std::vector<std::string> words, const Options& odd) {
  return {std::move(name), ErrorKind::invalid_argument, std::move(words),
          [=](int rank, Communicator& communicator) {
            reduce(communicator, is_last(rank, communicator) ? odd : Options{.codec = "thc"});
          }};
}

/// The last rank gives other pointers, or another count.
template <class Pointers>
BadCall wrong_pointers(std::string name, std::vector<std::string> words, Pointers pointers) {
  return {std::move(name), ErrorKind::invalid_argument, std::move(words),
          [=](int rank, Communicator& communicator) {
            std::vector<float> data(2 * count);
            const void* input = data.data();
            void* output = data.data();
            std::size_t elements = count;
            if (is_last(rank, communicator)) pointers(data.data(), input, output, elements);
            allreduce(input, output, elements, ElementType::f32, communicator, {.codec = "raw"});
          }};
}

constexpr const char* feedback = "thc:error_feedback=on";

}  // namespace

std::vector<BadCall> disagreements() {
  return {
      differing("codec", {"codec (rank ", ": \"thc"}, {.codec = "raw", .algorithm = "ring"},
                {.codec = "thc", .algorithm = "ring"}),
      differing("parameter", {"codec (rank ", ": \"thc:bits=5", ": \"thc:bits=3"},
                {.codec = "thc:bits=3", .algorithm = "ring"},
                {.codec = "thc:bits=5", .algorithm = "ring"}),
      differing("seed", {"codec (rank ", ": \"thc:seed=1\""},
                {.codec = "thc", .algorithm = "direct"},
                {.codec = "thc:seed=1", .algorithm = "direct"}),
      differing("op", {"op (rank ", ": \"mean\"; ", ": \"sum\")"}, {.op = ReduceOp::sum},
                {.op = ReduceOp::mean}),
      differing("algorithm", {"algorithm (rank ", ": \"tree\"; ", ": \"ring\")"},
                {.codec = "raw", .algorithm = "ring"}, {.codec = "raw", .algorithm = "tree"}),
      differing("segment", {"segment (rank ", ": 1024; ", ": 512)"},
                {.codec = "thc", .algorithm = "ring", .segment = 512},
                {.codec = "thc", .algorithm = "ring", .segment = 1024}),
      differing("buffer_name", {"buffer (rank ", ": \"biases\"; ", ": \"weights\")"},
                {.codec = feedback, .algorithm = "ring", .buffer = "weights"},
                {.codec = feedback, .algorithm = "ring", .buffer = "biases"}),
      {"count",
       ErrorKind::mismatch,
       {"count (rank ", ": 999; ", ": 1000)"},
       [](int rank, Communicator& communicator) {
         reduce(communicator, {}, is_last(rank, communicator) ? count - 1 : count);
       }},
      {"nothing_and_something",
       ErrorKind::mismatch,
       {"count (rank ", ": 0; ", ": 1000)"},
       [](int rank, Communicator& communicator) {
         reduce(communicator, {.codec = "raw"}, is_last(rank, communicator) ? 0 : count);
       }},
      {"type",
       ErrorKind::mismatch,
       {"element type (rank ", ": \"bf16\"; ", ": \"f16\")"},
       [](int rank, Communicator& communicator) {
         reduce(communicator, {}, count,
                is_last(rank, communicator) ? ElementType::bf16 : ElementType::f16);
       }},
      {"allreduce_and_plan",
       ErrorKind::mismatch,
       {"call (rank ", ": \"plan creation\"; ", ": \"allreduce\")"},
       [](int rank, Communicator& communicator) {
         if (is_last(rank, communicator))
           AllreducePlan(communicator, count, ElementType::f32);
         else
           reduce(communicator, {});
       }},
      {"plans_started_in_different_order",
       ErrorKind::mismatch,
       {"plan (rank "},
       [](int rank, Communicator& communicator) {
         AllreducePlan first(communicator, count, ElementType::f32, {.codec = "raw"});
         AllreducePlan second(communicator, count, ElementType::f32, {.codec = "raw"});
         std::vector<float> data(count);
         (is_last(rank, communicator) ? second : first).execute(data.data(), data.data());
       }},
  };
}

std::vector<BadCall> wrong_arguments() {
  const std::size_t overflowing = std::numeric_limits<std::size_t>::max() / 4;
  return {
      wrong_option("unknown_codec", {"rank ", "codec \"thx\" is unknown", "did you mean thc"},
                   {.codec = "thx"}),
      wrong_option("nameless_codec", {"the name is missing"}, {.codec = ":bits=4"}),
      wrong_option("unknown_parameter", {"no parameter 'bit'", "did you mean bits"},
                   {.codec = "thc:bit=4"}),
      wrong_option("parameter_of_raw", {"raw has no parameter 'bits'"}, {.codec = "raw:bits=4"}),
      wrong_option("bad_value", {"bits=99", "from 1 to 8"}, {.codec = "thc:bits=99"}),
      wrong_option("bad_choice", {"dither=nearst", "did you mean nearest"},
                   {.codec = "thc:dither=nearst"}),
      wrong_option("no_value", {"\"bits\" is not parameter=value"}, {.codec = "thc:bits"}),
      wrong_option("given_twice", {"bits is given twice"}, {.codec = "thc:bits=4,bits=4"}),
      wrong_option("narrow_lane", {"lane=8", "ranks * granularity 300", "needs lane="},
                   {.codec = "thc:granularity=300,lane=8"}),
      wrong_option("unknown_op", {"op 7 is none of ReduceOp's", "sum or mean"},
                   {.codec = "thc", .op = static_cast<ReduceOp>(7)}),
      {"unknown_type",
       ErrorKind::invalid_argument,
       {"type 9 is none of ElementType's", "f32, f16, bf16 or f64"},
       [](int rank, Communicator& communicator) {
         reduce(communicator, {}, count,
                is_last(rank, communicator) ? static_cast<ElementType>(9) : ElementType::f32);
       }},
      wrong_option("unknown_algorithm", {"algorithm \"rng\" is unknown", "did you mean ring"},
                   {.algorithm = "rng"}),
      wrong_option("feedback_without_name", {"the buffer has no name", "Options::buffer"},
                   {.codec = feedback, .algorithm = "ring"}),
      wrong_option("state_of_another_vector", {"buffer \"kept\" has state of", "reset the state"},
                   {.codec = feedback, .algorithm = "ring", .buffer = "kept"}),
      wrong_pointers("null_input", {"input is null", "4000 bytes"},
                     [](float*, const void*& input, void*&, std::size_t&) { input = nullptr; }),
      wrong_pointers("null_output", {"output is null", "4000 bytes"},
                     [](float*, const void*&, void*& output, std::size_t&) { output = nullptr; }),
      wrong_pointers(
          "overlap", {"input and output overlap: 3996 bytes apart"},
          [](float* data, const void*& input, void*&, std::size_t&) { input = data + count - 1; }),
      wrong_pointers(
          "overflowing_count", {"count 4611686018427387903 overflows"},
          [=](float*, const void*&, void*&, std::size_t& elements) { elements = overflowing; }),
      {"absurd_count",
       ErrorKind::memory,
       {"out of memory", "1125899906842624 elements"},
       [](int rank, Communicator& communicator) {
         std::vector<float> data(count);
         allreduce(data.data(), data.data(),
                   is_last(rank, communicator) ? std::size_t{1} << 50 : count, ElementType::f32,
                   communicator, {.codec = "thc", .algorithm = "ring"});
       }},
      {"spans_of_different_size",
       ErrorKind::invalid_argument,
       {"1000 and 999 elements"},
       [](int rank, Communicator& communicator) {
         const std::vector<float> input(count);
         std::vector<float> output(count - is_last(rank, communicator));
         allreduce(std::span(input), std::span(output), communicator, {.codec = "raw"});
       }},
      {"refused_by_the_caller",
       ErrorKind::unsupported,
       {"no complex numbers"},
       [](int rank, Communicator& communicator) {
         if (is_last(rank, communicator))
           allreduce_fail(Error(ErrorKind::unsupported, "no complex numbers"), communicator).wait();
         else
           reduce(communicator, {});
       }},
  };
}

std::vector<BadCall> wrong_plans() {
  const auto plan_of_last = [](std::string name, ErrorKind kind, std::vector<std::string> words,
                               const Options& odd, std::size_t elements) {
    return BadCall{std::move(name), kind, std::move(words),
                   [=](int rank, Communicator& communicator) {
                     const bool last = is_last(rank, communicator);
                     AllreducePlan(communicator, last ? elements : count, ElementType::f32,
                                   last ? odd : Options{.codec = "thc"});
                   }};
  };
  const auto started = [](std::string name, std::vector<std::string> words, const char* codec,
                          bool null) {
    return BadCall{std::move(name), ErrorKind::invalid_argument, std::move(words),
                   [=](int rank, Communicator& communicator) {
                     AllreducePlan plan(communicator, count, ElementType::f32,
                                        {.codec = codec, .algorithm = "ring"});
                     std::vector<float> data(2 * count);
                     float* const odd = null ? nullptr : data.data() + 1;
                     plan.execute(is_last(rank, communicator) ? odd : data.data(), data.data());
                   }};
  };
  return {
      plan_of_last("codec", ErrorKind::invalid_argument, {"rank ", "codec \"thc4\" is unknown"},
                   {.codec = "thc4"}, count),
      plan_of_last("algorithm", ErrorKind::invalid_argument, {"algorithm \"circle\" is unknown"},
                   {.algorithm = "circle"}, count),
      plan_of_last("overflow", ErrorKind::invalid_argument, {"overflows"}, {.codec = "thc"},
                   std::numeric_limits<std::size_t>::max() / 2),
      plan_of_last("count", ErrorKind::mismatch, {"count (rank ", ": 2000; ", ": 1000)"},
                   {.codec = "thc"}, 2 * count),
      plan_of_last("parameter", ErrorKind::mismatch, {"segment"}, {.codec = "thc", .segment = 256},
                   count),
      started("null_at_start", {"input is null"}, "raw", true),
      started("null_at_start_of_thc", {"input is null"}, "thc", true),
      started("overlap_at_start", {"overlap: 4 bytes apart"}, "thc", false),
      started("overlap_at_start_with_state", {"overlap: 4 bytes apart"}, feedback, false),
  };
}

}  // namespace cohom::test
