#pragma once
// The functions of the sign row, by the files they are in.

#include "kernels/sign/sign.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

// sign_measure.cpp
void measure_signs(const SignRun& run, const void* input, void* state, bool of_input,
                   SignBlock* blocks);

// sign_pack.cpp
void pack_signs(const SignRun& run, const void* input, const void* state, const double* scales,
                bool zeros_are_plus, std::uint64_t* bits);
void pack_signs_with_feedback(const SignRun& run, void* state, const double* scales,
                              bool zeros_are_plus, std::uint64_t* bits);

// sign_count.cpp
void count_signs(const SignCounts& counts, const SignRun& run,
                 const std::uint64_t* const* contributions, std::size_t contribution_count,
                 std::uint64_t* sum);
void majority_of_signs(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                       bool odd, std::uint64_t* bits);

// sign_expand.cpp
void expand_signs(const SignRun& run, const std::uint64_t* bits, const double* scales,
                  std::uint32_t ranks, std::uint64_t divisor, void* state, void* output);
void expand_sign_counts(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                        const double* scales, std::uint64_t divisor, void* output);

SignKernels sign_row();

}  // namespace cohom::kernels::device
