#pragma once
// ScaleReport: the rows of cohom-scale, as a table and as JSON (schema "cohom-scale/1").

#include "output_file.hpp"
#include "scale/call_model.hpp"
#include "scale/scale_options.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace cohom::bench {

struct TimedCall {
  SimulatedCall call;
  NativeCall native;

  /// How many times as fast as native.
  [[nodiscard]] double ratio() const { return native.call.time / call.time; }
};

struct ScaleRow {
  const NetworkShape* network = nullptr;
  CallShape shape;                           ///< as asked for
  std::string algorithm;                     ///< which ran
  std::optional<TimedCall> alone = {};       ///< the network alone; empty: left out
  std::optional<TimedCall> with_codec = {};  ///< and the work on elements
  std::optional<std::uint64_t> hash = {};    ///< of the result, which all ranks have
  std::string traces = {};                   ///< the file that lists them
};

class ScaleReport {
 public:
  /// `options` outlives it. @throws std::runtime_error where the file cannot be written
  explicit ScaleReport(const ScaleOptions& options);

  /// Prints the row, and writes it.
  void add(const ScaleRow& row);
  void close();

 private:
  void print_head() const;
  void print(const ScaleRow& row) const;

  const ScaleOptions& options_;
  nlohmann::ordered_json document_;
  std::optional<OutputFile> file_;
};

}  // namespace cohom::bench
