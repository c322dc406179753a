#pragma once
// CodecTimes: what a processor needs for a codec's work, as codec_bench measured it.

#include "scale/network_shape.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace cohom::bench {

struct CodecTimes {
  Nanoseconds agree = 0;       ///< an element: what rounds before the payload look at
  Nanoseconds encode = 0;      ///< an element
  Nanoseconds add_narrow = 0;  ///< an element of each contribution in its narrow form
  Nanoseconds add_wide = 0;    ///< a byte of each partial sum that is added to another one
  Nanoseconds decode = 0;      ///< an element
};

/// Rows of codec_bench, or what somebody else measured.
class MeasuredTimes {
 public:
  /// Of codecs, by name.
  using OfCodecs = std::map<std::string, CodecTimes, std::less<>>;

  /// Those of docs/results/two-cores: one thread, AVX-512 at 2.1 GHz, vectors of 4 MiB.
  MeasuredTimes();
  /// Those of its JSON.
  /// @throws std::runtime_error naming the file and what is wrong with it
  explicit MeasuredTimes(const std::string& path);
  explicit MeasuredTimes(OfCodecs measured) : measured_(std::move(measured)) {}

  /// Of f32, by the codec's name without parameters.
  /// @throws std::runtime_error for codecs that were not measured, or whose rows are not used here
  [[nodiscard]] CodecTimes of(std::string_view codec) const;

 private:
  /// Of a row of codec_bench, an element of its 4 MiB of f32.
  [[nodiscard]] Nanoseconds element(std::string_view row) const;

  OfCodecs measured_;
  std::string path_;
  std::map<std::string, Nanoseconds, std::less<>> rows_;  ///< by name: of a whole run
};

}  // namespace cohom::bench
