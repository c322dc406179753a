#pragma once
// The parts that the thc row is made of: frames are blocks of 256 elements, all that come; blocks
// are those of other sizes, and ragged ones. Pointers are as kernels see them.

#include "kernels/device_runtime/device_context.hpp"
#include "kernels/thc/device/thc_settings.hpp"
#include "kernels/thc/thc.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

/// Blocks of one size, side by side; `padded` is a power of two of at least 16. Only in a single
/// block may elements be missing.
struct BlockRun {
  ElementType type;
  std::size_t first;  ///< element of the vector
  std::size_t count;
  std::size_t padded;
};

void measure_frames(const ThcRun& run, const void* input, void* feedback, std::uint32_t* codes);
void measure_blocks(const BlockRun& run, const void* input, void* feedback, std::uint32_t* codes);

void encode_frames(const ThcSettings& settings, const ThcRun& run, const void* input,
                   void* feedback, const std::uint32_t* codes, Form form, std::uint64_t* words);
void encode_blocks(DeviceContext& context, const ThcSettings& settings, const BlockRun& run,
                   const void* input, void* feedback, const std::uint32_t* codes, Form form,
                   std::uint64_t* words);

/// Contributions as a list in device memory.
void promote_frames(const ThcSettings& settings, std::size_t frames,
                    const std::uint64_t* const* contributions, std::size_t contribution_count,
                    std::uint64_t* sum);
/// `skipped`: words of a contribution that are before these blocks.
void promote_blocks(const ThcSettings& settings, std::size_t blocks, std::size_t padded,
                    const std::uint64_t* const* contributions, std::size_t contribution_count,
                    std::size_t skipped, std::uint64_t* sum);

void decode_frames(const ThcSettings& settings, const ThcRun& run, const std::uint64_t* sum,
                   std::size_t contributions, const std::uint32_t* codes, std::uint64_t divisor,
                   void* output);
void decode_blocks(DeviceContext& context, const ThcSettings& settings, const BlockRun& run,
                   const std::uint64_t* sum, std::size_t contributions, const std::uint32_t* codes,
                   std::uint64_t divisor, void* output);

ThcKernels thc_row();

}  // namespace cohom::kernels::device
