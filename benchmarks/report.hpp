#pragma once
// Report: the results as JSON, schema "cohom-bench/1".

#include "bench_options.hpp"
#include "output_file.hpp"
#include "row.hpp"

#include <cohom/communicator.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohom::bench {

/// What stands once above all rows.
struct RunFacts {
  std::string host;  ///< of rank 0
  std::string git;   ///< of this build
  std::string mpi_library;
  std::string transport;
  std::string date;  ///< UTC, ISO 8601
  int ranks = 1;
  std::uint32_t nodes = 0, switches = 0;   ///< that the ranks are on; 0: nobody knows
  std::vector<std::string> counters = {};  ///< names of what is counted in the network
};

/// Local.
RunFacts collect_facts(const Communicator& communicator);

/// Kept by rank 0 and written anew after every row, so that an interrupted run leaves what it has
/// in a file; a pipe or a device gets one document at the end.
class Report {
 public:
  /// `options` must outlive the report.
  /// @throws std::runtime_error naming options.json_path where it cannot be written
  Report(const RunFacts& facts, const BenchOptions& options);

  void add(const Row& row);
  /// Replaces options.json_path at once, or does nothing without one.
  /// @throws std::runtime_error naming the file
  void write();
  /// Writes to a pipe or a device, which write() does not.
  /// @throws std::runtime_error naming the file
  void close();

  [[nodiscard]] const nlohmann::ordered_json& json() const { return document_; }

 private:
  const BenchOptions& options_;
  RunFacts facts_;
  nlohmann::ordered_json document_;
  std::optional<OutputFile> file_;
};

}  // namespace cohom::bench
