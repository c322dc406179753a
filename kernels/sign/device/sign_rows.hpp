#pragma once
// The functions of the sign row, by the files they are in.

#include "kernels/sign/sign.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

// sign_measure.cpp
void measure_signs(const SignRun& run, const void* input, void* state, bool of_input,
                   SignBlock* blocks);

// sign_count.cpp
void count_signs(const SignCounts& counts, const SignRun& run,
                 const std::uint64_t* const* contributions, std::size_t contribution_count,
                 std::uint64_t* sum);
void majority_of_signs(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                       bool odd, std::uint64_t* bits);

// sign_expand_counts.cpp
void expand_sign_counts(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                        const double* scales, std::uint64_t divisor, void* output);

// sign_blocks.cpp
SignKernels sign_row();

}  // namespace cohom::kernels::device
