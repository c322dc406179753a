#include "table.hpp"

#include "base/text.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <cohom/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cohom::bench {
namespace {

const std::string raw_note = " (raw)";  // a compressing codec was asked for, and bypassed

/// Whether the library is to choose the codec.
bool is_auto(const std::string& codec) { return codec.starts_with("auto:"); }

/// What was asked for, and what became of it where that is something else.
std::string codec_text(const Row& row) {
  if (row.plan.bypass) return row.codec + raw_note;
  return is_auto(row.codec) ? row.codec + " (" + row.plan.codec + ")" : row.codec;
}

/// Whether the sum's bits depend on the algorithm.
bool adds_floats(const std::string& codec) {
  constexpr std::string_view names[] = {"raw", "sparse", "topk", "lowrank"};
  return std::ranges::any_of(names, [&](auto name) { return codec.starts_with(name); });
}

std::string milliseconds(double seconds) { return fmt::format("{:.4g}", seconds * 1e3); }

std::string gigabytes(double bytes) { return fmt::format("{:.3f}", bytes * 1e-9); }

std::string error_text(double value) { return value == 0 ? "0" : fmt::format("{:.2e}", value); }

/// Cut off, not rounded: 1 only if all elements are.
std::string rounded_text(const RoundedCount& count) {
  if (count.correct == count.checked) return "1";
  return fmt::format("{:.6f}", std::floor(count.share() * 1e6) / 1e6);
}

/// In the largest power of 1024 that leaves a digit before the point.
std::string traffic(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f}", bytes);
  for (const char unit : {'K', 'M'}) {
    bytes /= 1024;
    if (bytes < 1024) return fmt::format("{:.2f}{}", bytes, unit);
  }
  return fmt::format("{:.2f}G", bytes / 1024);
}

std::size_t longest(const std::vector<std::string>& texts) {
  std::size_t length = 0;
  for (const auto& text : texts) length = std::max(length, text.size());
  return length;
}

std::size_t longest_algorithm() {
  std::size_t length = 0;
  for (const AlgorithmRow& row : algorithm_table()) length = std::max(length, row.name.size());
  return length;
}

void add_time_columns(std::vector<Column>& columns, int ranks, ReductionKind collective) {
  const auto speed = [=](const Row& row) {
    return bandwidth(row.bytes, row.timed->time.median, ranks, collective);
  };
  columns.insert(
      columns.end(),
      {
          {"ms", 7, false, [](const Row& row) { return milliseconds(row.timed->time.median); }},
          {"min", 7, false, [](const Row& row) { return milliseconds(row.timed->time.min); }},
          {"p99", 7, false, [](const Row& row) { return milliseconds(row.timed->time.p99); }},
          {"algbw", 6, false, [=](const Row& row) { return gigabytes(speed(row).algorithm); }},
          {"busbw", 6, false, [=](const Row& row) { return gigabytes(speed(row).bus); }},
          {"native", 7, false,
           [](const Row& row) { return milliseconds(row.timed->native.time.median); }},
          {"by", 18, true, [](const Row& row) { return row.timed->native.algorithm; }},
          {"x", 5, false,
           [](const Row& row) { return fmt::format("{:.2f}", row.timed->speedup()); }},
      });
}

void add_profile_columns(std::vector<Column>& columns) {
  for (std::size_t p = 0; p < phases; ++p)
    columns.push_back({std::string(name_of(static_cast<Phase>(p))), 6, false, [=](const Row& row) {
                         return milliseconds(row.timed->profile->seconds[p]);
                       }});
  columns.push_back({"processor", 9, false, [](const Row& row) {
                       return milliseconds(row.timed->profile->processor_seconds);
                     }});
}

/// What the network counted while the row and its native rivals were timed.
void add_counter_columns(std::vector<Column>& columns, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    columns.push_back({name, 5, false, [=](const Row& row) {
                         const Counters& counters = row.timed->counters;
                         const auto found =
                             std::ranges::find(counters, name, &Counters::value_type::first);
                         return found == counters.end() ? "-" : std::to_string(found->second);
                       }});
}

/// Of vectors that are mostly zeros: the share of elements that are not, on some rank.
void add_union_column(std::vector<Column>& columns) {
  columns.push_back({"union", 7, false,
                     [](const Row& row) { return fmt::format("{:.5f}", row.shape.density()); }});
}

void add_wire_columns(std::vector<Column>& columns) {
  columns.insert(columns.end(),
                 {
                     {"wire/rank", 9, false,
                      [](const Row& row) {
                        if (row.mpi_bytes)
                          return "MPI " + traffic(static_cast<double>(*row.mpi_bytes));
                        return row.wire ? traffic(static_cast<double>(row.wire->busiest_rank))
                                        : std::string("-");
                      }},
                     {"all", 7, false,
                      [](const Row& row) {
                        return row.wire ? traffic(static_cast<double>(row.wire->all_ranks))
                                        : std::string("-");
                      }},
                     {"/formula", 8, false,
                      [](const Row& row) {
                        const auto ratio = row.wire_ratio();
                        return ratio ? fmt::format("{:.4f}", *ratio) : std::string("-");
                      }},
                 });
}

void add_quality_columns(std::vector<Column>& columns, bool several_steps) {
  columns.push_back(
      {"vNMSE", 8, false, [](const Row& row) { return error_text(row.quality.vnmse); }});
  if (several_steps)
    columns.push_back({"sum vNMSE", 9, false, [](const Row& row) {
                         return error_text(row.quality.vnmse_running_sum.value_or(0));
                       }});
  columns.insert(
      columns.end(),
      {
          {"max err", 8, false,
           [](const Row& row) { return error_text(row.quality.max_abs_error); }},
          {"=raw", 4, true,
           [](const Row& row) { return !row.equals_raw   ? "-"
                                       : *row.equals_raw ? "yes"
                                                         : "no"; }},
          {"same", 4, true,
           [](const Row& row) { return row.quality.identical_across_ranks ? "yes" : "NO"; }},
          {"hash", 16, true, [](const Row& row) { return hash_text(row.quality.result_hash); }},
      });
}

/// The shares of elements that are the correctly rounded sum.
void add_rounding_columns(std::vector<Column>& columns) {
  columns.push_back(
      {"correctly rounded", 17, false, [](const Row& row) { return rounded_text(row.rounded); }});
  columns.push_back({"native rounded", 14, false, [](const Row& row) {
                       return row.native_rounded ? rounded_text(*row.native_rounded)
                                                 : std::string("-");
                     }});
}

/// Whether a codec rounds correctly, so that the column is there to be looked at.
bool rounds_correctly(std::string_view spec) {
  const std::string_view name = spec.substr(0, spec.find(':'));
  return name == "exact" || name.ends_with("+exact");
}

/// What did not go as asked.
std::string offload_note(const Row& row) {
  const OffloadCounters& calls = *row.offloading;
  const std::uint64_t all = calls.offloaded + calls.declined;
  std::string text;
  if (calls.declined != 0)
    text += fmt::format("  {} of {} calls by {}", calls.declined, all, row.plan.other_algorithm);
  if (calls.repeated != 0)
    text += fmt::format("  {} of {} calls repeated by the ranks", calls.repeated, all);
  return text;
}

/// Which timed calls did not go by the row's algorithm: the correctness run never races.
std::string ways_note(const Row& row) {
  const Timed& timed = *row.timed;
  std::string text;
  if (timed.plan.algorithm != row.plan.algorithm && timed.plan.algorithm != native_algorithm.name)
    text += "  timed by " + timed.plan.algorithm;
  if (timed.native_calls != 0 && row.plan.algorithm != native_algorithm.name)
    text += fmt::format("  {} calls native", timed.native_calls);
  const bool bypasses = timed.plan.third_codec == "raw" && row.plan.codec != "raw";
  if (timed.third_calls != 0)
    text += fmt::format("  {} calls {}by {}", timed.third_calls, bypasses ? "raw " : "",
                        timed.plan.third_algorithm);
  return text;
}

std::string cells(const std::vector<Column>& columns,
                  const std::function<std::string(const Column&)>& text) {
  std::string line;
  for (const Column& column : columns) {
    const std::size_t width = std::max(column.width, column.title.size());
    line += column.left ? fmt::format("{:<{}}  ", text(column), width)
                        : fmt::format("{:>{}}  ", text(column), width);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::string size_text(std::size_t bytes) {
  for (const auto& [shift, unit] : {std::pair{30, 'G'}, {20, 'M'}, {10, 'K'}})
    if (bytes >> shift != 0 && bytes % (std::size_t{1} << shift) == 0)
      return fmt::format("{}{}", bytes >> shift, unit);
  return fmt::format("{}", bytes);
}

namespace {

/// The library's own choice may be any algorithm, and to send the vector raw.
bool library_chooses(const BenchOptions& options) {
  return std::ranges::find(options.algorithms, "auto") != options.algorithms.end();
}

std::size_t codec_width(const BenchOptions& options) {
  std::size_t width = longest(options.codecs) + (library_chooses(options) ? raw_note.size() : 0);
  for (const std::string& codec : options.codecs)
    if (is_auto(codec)) width = std::max(width, 2 * codec.size() + 5);
  return width;
}

bool counts_elements(const std::string& codec) {
  return codec.starts_with("sparse") || codec.starts_with("topk") || codec.starts_with("sketch");
}

}  // namespace

Table::Table(const RunFacts& facts, const BenchOptions& options) : facts_(facts) {
  summary_ =
      fmt::format("{} {}{}{}, {}", name_of(options.type), name_of(options.op),
                  options.in_place ? ", in place" : "", options.nonblocking ? ", nonblocking" : "",
                  counted(std::uint64_t(options.steps), "step"));
  if (options.memory != MemorySpace::host)
    summary_ += fmt::format(", {} memory", name_of(options.memory));
  const std::size_t algorithm_width =
      library_chooses(options) ? longest_algorithm() : longest(options.algorithms);
  columns_ = {
      {"size", 8, false, [](const Row& row) { return size_text(row.bytes); }},
      {"codec", codec_width(options), true, codec_text},
      {"algorithm", algorithm_width, true, [](const Row& row) { return row.plan.algorithm; }}};
  if (options.memory != MemorySpace::host)
    columns_.push_back({"path", 9, true, [](const Row& row) { return row.plan.path; }});
  if (!options.check_only) add_time_columns(columns_, facts.ranks, options.collective);
  if (options.profile) add_profile_columns(columns_);
  if (!options.check_only) add_counter_columns(columns_, facts.counters);
  if (std::ranges::any_of(options.codecs, counts_elements)) add_union_column(columns_);
  add_wire_columns(columns_);
  if (options.rounding || std::ranges::any_of(options.codecs, rounds_correctly))
    add_rounding_columns(columns_);
  add_quality_columns(columns_, options.steps > 1);
}

std::string Table::head() const {
  std::string text = fmt::format("# cohom {} ({}), {}, {}, {}\n# {}\n", version_string, facts_.git,
                                 counted(std::uint64_t(facts_.ranks), "rank"), facts_.host,
                                 facts_.mpi_library, summary_);
#ifndef NDEBUG
  text += "# built with assertions: times mean nothing\n";
#endif
  return text;
}

std::string Table::line(const Row& row) {
  std::string text;
  if (row.input != input_ || rows_ == 0) {
    input_ = row.input;
    text += fmt::format("\n# input {}\n", row.input);
    text += cells(columns_, [](const Column& column) { return column.title; });
  }
  text += cells(columns_, [&](const Column& column) { return column.cell(row); });
  if (row.extended) text.insert(text.size() - 1, "  extended");
  if (row.offloading) text.insert(text.size() - 1, offload_note(row));
  if (row.timed) text.insert(text.size() - 1, ways_note(row));
  if (!row.plan.not_offloaded.empty())
    text.insert(text.size() - 1, "  not offloaded: " + row.plan.not_offloaded);
  ++rows_;
  differing_rows_ += row.quality.identical_across_ranks ? 0 : 1;
  Results& results =
      results_[row.plan.bypass ? "raw" : row.codec][fmt::format("{} {}", row.input, row.bytes)];
  results.hashes.insert(row.quality.result_hash);
  results.algorithms.insert(row.plan.algorithm);
  return text;
}

std::string Table::foot() const {
  std::string text = fmt::format("\n# bits identical on all ranks: {}\n",
                                 differing_rows_ == 0
                                     ? fmt::format("all {} rows", rows_)
                                     : fmt::format("NOT in {} of {} rows", differing_rows_, rows_));
  for (const auto& [codec, by_vector] : results_) {
    std::size_t vectors = 0, same = 0;
    for (const auto& [vector, results] : by_vector) {
      if (results.algorithms.size() < 2) continue;
      ++vectors;
      same += results.hashes.size() == 1 ? 1 : 0;
    }
    if (vectors == 0) continue;
    text += same == vectors
                ? fmt::format("# {}: one result over all algorithms, in {} of {} vectors\n", codec,
                              same, vectors)
                : fmt::format("# {}: results differ by algorithm in {} of {} vectors{}\n", codec,
                              vectors - same, vectors,
                              adds_floats(codec) ? " (each adds floats in its own order)" : "");
  }
  return text;
}

}  // namespace cohom::bench
