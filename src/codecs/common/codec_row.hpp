#pragma once
// CodecRow: all that the rest of the project knows of a codec. cohom-info, plans, the benchmarks'
// byte formulas and the tests read it, and have no list of codecs of their own.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_bytes.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/common/nmse.hpp"
#include "kernels/table/kernel_table.hpp"

#include <cohom/codec.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace cohom {

/// The form of a codec of which only kernels and Memory touch elements and the payload's words,
/// wherever they lie: any, or those that the parameters say.
struct DeviceForm {
  bool (*has_kernels)(const kernels::KernelTable& device) = nullptr;  ///< null: no device has
  bool (*is)(const Parameters&, ElementType) = nullptr;               ///< null: any
  std::string_view only = {};                                         ///< the same in words
  std::string_view why_none = {};  ///< in words, where no device has kernels: nobody forgot them
};

/// A spec that takes a path of its own through the codec, and what its error may be: squared errors
/// of a sum of normal vectors, relative to ranks * (largest energy of a rank's vector), with a
/// quarter or more of room above what theory and measurement say. Tests run all of them.
struct CodecSample {
  std::string_view spec;
  double clamped = 0;        ///< what is lost whatever the number of ranks
  double rounded = 0;        ///< what rounding costs one rank
  bool correlated = true;    ///< roundings of n ranks cancel: (n + 1) / (2 n) of it is left
  bool full_levels = false;  ///< n ranks share one lane's levels: n^2 times the error of one
  bool block_scale = true;   ///< what one block holds does not change the others
  int max_ranks = 16;        ///< above, the sum does not fit the lane
  std::size_t outlier_elements =
      0;  ///< elements that are outliers together; 0: one block, or all without block_scale
  bool shares_step = false;  ///< an outlier changes the step of all others
  bool absolute = false;     ///< the error does not scale with the vectors
  bool signs = false;        ///< one bit a value: nothing of its magnitude travels
  /// Sends some elements alone, or what a few directions span; +0 stands for the rest, and for -0.
  bool leaves_out = false;
  /// Sums and means are exact and rounded once: a mean is not the quotient of the rounded sum, and
  /// -0 is a sum.
  bool rounds_once = false;

  [[nodiscard]] double error(int ranks) const {
    const double n = ranks;
    return clamped + rounded * (correlated ? (n + 1) / (2 * n) : 1) * (full_levels ? n * n : 1);
  }
};

struct CodecRow {
  CodecInfo info;
  std::unique_ptr<Codec> (*make)(const CodecContext&) = nullptr;
  DeviceForm device = {};
  std::span<const CodecSample> samples = {};  ///< the first is the default
  /// Whether several threads may be in its rounds at the same time, with a piece each: workers run
  /// slices. In a round of scope `vector` the last piece comes alone, after all others.
  bool in_workers = false;
  /// Whether a rank can decode some pieces of the sum and leave out others: no state and no later
  /// round depends on what it decodes.
  bool decodes_parts = false;
  /// Whether errors are bounded with these parameters, which raw's are not where values cancel:
  /// such a codec is not bypassed. Null: never.
  bool (*bounds_errors)(const Parameters&) = nullptr;
  /// Whether with these parameters a rank may contribute any number of vectors, of which raw takes
  /// one: such a codec is not bypassed, on one rank neither. Null: never.
  bool (*takes_many)(const Parameters&) = nullptr;
  /// Whether raw keeps, among so many ranks, all that the codec promises with these parameters.
  [[nodiscard]] bool may_be_bypassed(const Parameters& given, int ranks) const {
    const bool bounds = ranks > 1 && bounds_errors != nullptr && bounds_errors(given);
    return !bounds && !(takes_many != nullptr && takes_many(given));
  }

  /// What calls put into messages, where payloads vary in length. Null: bytes_of_rounds().
  std::optional<CodecBytes> (*bytes)(const BytesQuery&) = nullptr;
  /// What `codec=auto:nmse=` asks; empty where the codec cannot keep it. The query's parameters say
  /// nmse and nothing else. Null: not a codec that it takes.
  std::optional<KeepingNmse> (*keeping_nmse)(double nmse, const BytesQuery&) = nullptr;
};

}  // namespace cohom
