#pragma once
// Table: the results for people, one line as soon as a row is known.

#include "bench_options.hpp"
#include "report.hpp"
#include "row.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cohom::bench {

struct Column {
  std::string title;
  std::size_t width;  ///< of the widest cell known beforehand
  bool left = false;  ///< aligned left: texts
  std::function<std::string(const Row&)> cell;
};

class Table {
 public:
  Table(const RunFacts& facts, const BenchOptions& options);

  /// Lines above the first row.
  [[nodiscard]] std::string head() const;
  /// The row's line; a heading first when its input is a new one.
  std::string line(const Row& row);
  /// What the rows show together: whether ranks agree, and whether algorithms do.
  [[nodiscard]] std::string foot() const;

  /// Whether all ranks had the same bits, in every row so far.
  [[nodiscard]] bool all_identical() const { return differing_rows_ == 0; }

 private:
  void add_columns(const BenchOptions& options);

  RunFacts facts_;
  std::string summary_;
  std::vector<Column> columns_;
  std::string input_;  ///< of the last row
  std::size_t rows_ = 0;
  std::size_t differing_rows_ = 0;
  /// Result hashes by codec, then by (input, size); and the algorithms they came from.
  struct Results {
    std::set<std::uint64_t> hashes;
    std::set<std::string> algorithms;
  };
  std::map<std::string, std::map<std::string, Results>> results_;
};

/// "16M" for whole powers of 1024, else the number.
std::string size_text(std::size_t bytes);

}  // namespace cohom::bench
