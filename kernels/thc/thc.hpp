#pragma once
// What the thc kernels share: the format of a plan, the draws of a call, and the row of functions.
// The bits are specified in docs/wire-format.md ("thc").

#include "kernels/core/dither.hpp"

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom::kernels {

/// One cell [x, x+1) of the quantiser's range: the table interval it lies in.
struct ThcCell {
  std::uint16_t index = 0;  ///< k of the interval [levels[k], levels[k+1]]
  std::uint16_t level = 0;  ///< levels[k]
  std::uint16_t gap = 1;    ///< levels[k+1] - levels[k]
};

/// On a device a block of more values has no room in shared memory: it turns in scratch, of which
/// one launch takes so many bytes, or those of one block.
inline constexpr std::size_t thc_shared_span = 2048;
inline constexpr std::size_t thc_max_scratch = std::size_t{32} << 20;

/// Everything about thc that does not change between calls. Plain data, equal on all ranks but
/// for `dither_offsets`.
struct ThcFormat {
  std::uint32_t rotation = 256;  ///< N, a power of two in 16..65536
  std::uint32_t intervals = 30;  ///< g (table form) or L (levels=full); at most 65535
  bool table = true;  ///< a contribution is an index into `levels`; else the level itself
  std::uint32_t narrow_width = 4;  ///< lane bits of a contribution
  std::uint32_t wide_width = 8;    ///< lane bits of a sum
  std::uint32_t ranks = 1;
  std::vector<std::uint16_t> levels;  ///< table form: T[k], k < 2^bits
  std::vector<ThcCell> cells;         ///< table form: intervals + 1 entries
  double encode_scale = 0;            ///< 256 * intervals / (2 t_p)
  double decode_scale = 0;            ///< t_p / intervals
  Dither dither = Dither::correlated;
  /// correlated: this rank's offset in 1/256 for each of the permutations one can draw.
  std::vector<std::uint8_t> dither_offsets;
};

/// Keys of the counter-based draws of one call (docs/wire-format.md, "Random numbers").
struct ThcDraws {
  std::uint64_t sign_key = 0;
  std::uint64_t dither_key = 0;  ///< depends on the rank but for Dither::correlated
  std::uint64_t permutation_key = 0;
};

/// A run of whole blocks; only the last may be ragged.
struct ThcRun {
  ElementType type = ElementType::f32;
  std::size_t first =
      0;  ///< index of the first element in the whole vector, a multiple of rotation
  std::size_t count = 0;  ///< elements
};

/// All pointers point at the run's own first element, word or code. `feedback` (f32, or f64 for
/// f64 vectors; one value an element) may be null: no error feedback.
struct ThcKernels {
  /// codes[b] := norm code of block b. With feedback: v = input + feedback is stored to feedback
  /// first, and the norms are v's.
  void (*measure)(const ThcFormat& format, const ThcRun& run, const void* input, void* feedback,
                  std::uint32_t* codes);
  /// Words of this rank's contribution. With feedback: reads v from feedback, leaves v -
  /// decode(own).
  void (*encode)(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
                 const void* input, void* feedback, const std::uint32_t* codes, Form form,
                 std::uint64_t* words);
  /// sum := sum of the narrow contributions, promoted.
  void (*promote)(const ThcFormat& format, const ThcRun& run,
                  const std::uint64_t* const* contributions, std::size_t contribution_count,
                  std::uint64_t* sum);
  /// Elements of a sum of `contributions`; with `divisor` > 1 divided by it at the end. Leaves the
  /// elements of outlier blocks (code 0xffffffff) untouched.
  void (*decode)(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
                 const std::uint64_t* sum, std::size_t contributions, const std::uint32_t* codes,
                 std::uint64_t divisor, void* output);
};

inline constexpr std::uint32_t outlier_code = 0xffffffffu;

/// Whether a device has all that codecs call.
constexpr bool complete(const ThcKernels& row) {
  return row.measure != nullptr && row.encode != nullptr && row.promote != nullptr &&
         row.decode != nullptr;
}

}  // namespace cohom::kernels
