#pragma once
// MethodReport: what cohom-reproducible prints and writes.

#include "reproducible/deal.hpp"
#include "reproducible/judgement.hpp"
#include "reproducible/reproducible_options.hpp"

#include "output_file.hpp"
#include "report.hpp"
#include "time_summary.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::bench {

struct MethodResult {
  std::string name;
  Judgement judgement;
  std::uint64_t bytes = 0;  ///< what a rank gave to collectives
  std::optional<TimeSummary> time = {};
};

/// Rank 0's.
class MethodReport {
 public:
  /// Finds out whether all files can be written. `options` must outlive the report.
  /// @throws std::runtime_error naming the file
  MethodReport(const RunFacts& facts, const ReproducibleOptions& options, const Deal& deal,
               std::span<const std::string> methods);

  /// Writes a method's sum where --results says.
  void save(std::size_t method, std::span<const std::byte> sum);
  /// Prints the table and writes the JSON.
  void finish(std::span<const MethodResult> results);

 private:
  const RunFacts facts_;
  const ReproducibleOptions& options_;
  std::vector<std::size_t> dealt_;  ///< vectors of each rank
  std::optional<OutputFile> json_;
  std::vector<std::optional<OutputFile>> sums_;
};

/// The table, without timing where there was none.
std::string table_of(std::span<const MethodResult> results, const ReproducibleOptions& options);

}  // namespace cohom::bench
