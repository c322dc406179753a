#pragma once
// Coverage: what several processes have run, from their reports.

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace cohom::ptx {

class Coverage {
 public:
  /// Adds a report. @throws std::runtime_error for lines that are none of a report's
  void add(std::istream& report);

  [[nodiscard]] std::size_t registered() const { return kernels_.size(); }
  [[nodiscard]] std::vector<std::string> never_run() const;
  [[nodiscard]] std::uint64_t complaints() const;
  /// Kernels whose text was changed on purpose.
  [[nodiscard]] std::uint64_t edited() const { return edited_; }

  /// A line a kernel: launches, blocks, steps, how many of its instructions ran; the sums; and
  /// which never ran.
  void print_table(std::ostream& out) const;
  void print_complaints(std::ostream& out) const;

 private:
  struct Row {
    std::uint64_t launches = 0, blocks = 0, steps = 0;
    std::vector<bool> ran;  ///< of each instruction
    std::map<std::string, std::uint64_t> complaints;

    [[nodiscard]] std::size_t instructions_run() const;
  };

  void add_line(const std::vector<std::string>& fields);

  std::map<std::string, Row> kernels_;
  std::uint64_t edited_ = 0;
};

}  // namespace cohom::ptx
