// The one-bit kernels, one row for each compiled target. A ragged block goes to what the driver
// makes of the body for the target; to the reference where there is no body (measure, counts).

#include "kernels/core/cpu/highway_targets.hpp"
#include "kernels/sign/cpu/sign_rows.hpp"

#if COHOM_HIGHWAY_TARGETS

#include "kernels/core/body/element.hpp"
#include "kernels/sign/body/sign_blocks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sign/cpu/sign_hwy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernels/core/cpu/block_loops-inl.h"
#include "kernels/sign/cpu/sign_count-inl.h"
#include "kernels/sign/cpu/sign_expand-inl.h"
#include "kernels/sign/cpu/sign_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

/// For ragged blocks.
using ByBody = SignsByBody<encode_blocks<body::Signs>, decode_blocks<body::Signs>>;

/// The last block of a run, where it is ragged, and where its parts begin.
struct SignRest {
  explicit SignRest(const SignRun& all)
      : blocks(all.count / sign_block),
        elements(blocks * sign_block),
        run{all.type, all.first + elements, all.count - elements} {}

  [[nodiscard]] std::size_t words(unsigned width) const {
    return blocks * body::words_per_block(sign_block, width);
  }
  /// Where the rest of a run's elements, or of its state, begins; `all` is const void* or void*.
  template <class Pointer>
  [[nodiscard]] Pointer at(Pointer all) const {
    return behind(all, elements * size_of(run.type));
  }
  template <class Pointer>
  [[nodiscard]] Pointer state(Pointer all) const {
    if (all == nullptr) return all;
    return behind(all, elements * (run.type == ElementType::f64 ? 8 : 4));
  }

  std::size_t blocks;
  std::size_t elements;  ///< before it
  SignRun run;

 private:
  static const void* behind(const void* all, std::size_t bytes) {
    return static_cast<const std::byte*>(all) + bytes;
  }
  static void* behind(void* all, std::size_t bytes) { return static_cast<std::byte*>(all) + bytes; }
};

void measure(const SignRun& run, const void* input, void* state, bool of_input, SignBlock* blocks) {
  body::with_element_type(run.type,
                          [&]<class T>(T) { measure_run<T>(run, input, state, of_input, blocks); });
  const SignRest rest(run);
  if (rest.run.count != 0)
    scalar_sign().measure(rest.run, rest.at(input), rest.state(state), of_input,
                          blocks + rest.blocks);
}

template <bool zeros_are_plus>
void pack_as(const SignRun& run, const void* input, const void* state, const double* scales,
             std::uint64_t* bits) {
  body::with_element_type(run.type, [&]<class T>(T) {
    using Real = typename Elements<T>::Real;
    if (state != nullptr)
      pack_run<Real, zeros_are_plus>(run, state, scales, bits);
    else
      pack_run<T, zeros_are_plus>(run, input, scales, bits);
  });
}

void pack(const SignRun& run, const void* input, const void* state, const double* scales,
          bool zeros_are_plus, std::uint64_t* bits) {
  (zeros_are_plus ? pack_as<true> : pack_as<false>)(run, input, state, scales, bits);
  const SignRest rest(run);
  if (rest.run.count != 0)
    ByBody::pack(rest.run, rest.at(input), rest.state(state), scales + rest.blocks, zeros_are_plus,
                 bits + rest.words(1));
}

void pack_feedback(const SignRun& run, void* state, const double* scales, bool zeros_are_plus,
                   std::uint64_t* bits) {
  if (run.type == ElementType::f64)
    (zeros_are_plus ? pack_feedback_run<double, true>
                    : pack_feedback_run<double, false>)(run, state, scales, bits);
  else
    (zeros_are_plus ? pack_feedback_run<float, true>
                    : pack_feedback_run<float, false>)(run, state, scales, bits);
  const SignRest rest(run);
  if (rest.run.count != 0)
    ByBody::pack_feedback(rest.run, rest.state(state), scales + rest.blocks, zeros_are_plus,
                          bits + rest.words(1));
}

void count(const SignCounts& counts, const SignRun& run, const std::uint64_t* const* contributions,
           std::size_t contribution_count, std::uint64_t* sum) {
  count_run(counts, run, contributions, contribution_count, sum);
  const SignRest rest(run);
  if (rest.run.count == 0) return;
  // The reference wants pointers to the block itself, and lanes of it add up.
  const std::size_t words = body::words_per_block(body::padded_signs(rest.run.count), counts.width);
  std::uint64_t* const total = sum + rest.words(counts.width);
  std::fill_n(total, words, std::uint64_t{0});
  std::uint64_t one[sign_block];
  for (std::size_t c = 0; c < contribution_count; ++c) {
    const std::uint64_t* const contribution = contributions[c] + rest.words(1);
    scalar_sign().count(counts, rest.run, &contribution, 1, one);
    for (std::size_t i = 0; i < words; ++i) total[i] += one[i];
  }
}

void majority(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum, bool odd,
              std::uint64_t* bits) {
  majority_run(counts, run, sum, odd, bits);
  const SignRest rest(run);
  if (rest.run.count != 0)
    scalar_sign().majority(counts, rest.run, sum + rest.words(counts.width), odd,
                           bits + rest.words(1));
}

void expand(const SignRun& run, const std::uint64_t* bits, const double* scales,
            std::uint32_t ranks, std::uint64_t divisor, void* state, void* output) {
  body::with_element_type(run.type, [&]<class T>(T) {
    expand_run<T>(run, bits, scales, ranks, divisor, state, output);
  });
  const SignRest rest(run);
  if (rest.run.count != 0)
    ByBody::expand(rest.run, bits + rest.words(1), scales + rest.blocks, ranks, divisor,
                   rest.state(state), rest.at(output));
}

void expand_counts(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                   const double* scales, std::uint64_t divisor, void* output) {
  body::with_element_type(run.type, [&]<class T>(T) {
    expand_counts_run<T>(counts, run, sum, scales, divisor, output);
  });
  const SignRest rest(run);
  if (rest.run.count != 0)
    scalar_sign().expand_counts(counts, rest.run, sum + rest.words(counts.width),
                                scales + rest.blocks, divisor, rest.at(output));
}

SignKernels sign_row() {
  return {measure, pack, pack_feedback, count, majority, expand, expand_counts};
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

SignKernels highway_sign(Isa isa) { return COHOM_ROW_OF(isa, sign_row); }

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
SignKernels highway_sign(Isa) { return {}; }
}  // namespace cohom::kernels

#endif
