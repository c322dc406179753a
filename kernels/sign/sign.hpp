#pragma once
// What the kernels of one-bit codecs share: the layout of signs and counts, what is known of a
// block, and the row of functions. The bits are specified in docs/wire-format.md ("Signs").

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom::kernels {

/// Elements of a block: 64 rows of 16, so that bit b of word i is the sign of element 16 b + i.
inline constexpr std::size_t sign_block = 1024;

/// A run of whole blocks; only the last may be ragged.
struct SignRun {
  ElementType type = ElementType::f32;
  std::size_t first = 0;  ///< index of its first element in the whole vector, a multiple of 1024
  std::size_t count = 0;  ///< elements
};

/// Magnitudes of one block on one rank.
struct SignBlock {
  /// 0: all zeros. Else floor(log2 of the largest) + sign_exponent_offset, or outlier_code.
  std::uint32_t code = 0;
  bool alive = false;  ///< some value that has a sign to send is not zero
  double sum = 0;      ///< of magnitudes / 2^floor(log2 of the largest)
};
inline constexpr int sign_exponent_offset = 1100;

/// How counts of plus signs lie in lanes.
struct SignCounts {
  std::uint32_t ranks = 1;
  std::uint32_t width = 1;  ///< lane bits that hold `ranks`; at most 16
};

/// Pointers point at the run's own first element, word or block. `state` (f32, or f64 for f64
/// vectors; one value an element) may be null where that is said. `scales` has one number a block:
/// below 0 for an outlier block, 0 for one that is zero on all ranks; both have all-zero words.
struct SignKernels {
  /// blocks[b] := what block b holds. With state: v = input + state is stored to state first, and v
  /// is measured, or, with `of_input`, the input; what makes v infinite is an outlier in either
  /// case.
  void (*measure)(const SignRun& run, const void* input, void* state, bool of_input,
                  SignBlock* blocks);
  /// The signs of the input, or of the state where there is one: 1 for plus.
  void (*pack)(const SignRun& run, const void* input, const void* state, const double* scales,
               bool zeros_are_plus, std::uint64_t* bits);
  /// pack() of the state, which then loses what the sign stands for: the block's scale.
  void (*pack_feedback)(const SignRun& run, void* state, const double* scales, bool zeros_are_plus,
                        std::uint64_t* bits);
  /// sum := how many contributions have a plus, in lanes.
  void (*count)(const SignCounts& counts, const SignRun& run,
                const std::uint64_t* const* contributions, std::size_t contribution_count,
                std::uint64_t* sum);
  /// bits := the sign of most ranks. A tie is plus in bits of even number, or with `odd` in the
  /// others. `bits` may be `sum`.
  void (*majority)(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum, bool odd,
                   std::uint64_t* bits);
  /// output := +-scale * ranks, with `divisor` > 1 divided by it. With state (may be null): state
  /// := state -+ scale. Leaves the output of outlier blocks untouched, their state too.
  void (*expand)(const SignRun& run, const std::uint64_t* bits, const double* scales,
                 std::uint32_t ranks, std::uint64_t divisor, void* state, void* output);
  /// output := scale * (2 count - ranks), with `divisor` > 1 divided by it; outlier blocks
  /// likewise.
  void (*expand_counts)(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                        const double* scales, std::uint64_t divisor, void* output);
};

/// Whether a device has all that codecs call.
constexpr bool complete(const SignKernels& row) {
  return row.measure != nullptr && row.pack != nullptr && row.pack_feedback != nullptr &&
         row.count != nullptr && row.majority != nullptr && row.expand != nullptr &&
         row.expand_counts != nullptr;
}

}  // namespace cohom::kernels
