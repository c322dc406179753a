#pragma once
// Progress: one line on the terminal that says what is being measured, overwritten by what follows.

#include <cstddef>
#include <string>

namespace cohom::bench {

class Progress {
 public:
  /// Stays silent unless `wanted` and standard error ends on a terminal, directly or through the
  /// launcher that started this process.
  Progress(bool wanted, std::size_t rows);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& row);
  void clear();

 private:
  bool visible_;
  std::size_t rows_;
  std::size_t row_ = 0;
  std::size_t width_ = 0;  ///< of what is on the line now
};

}  // namespace cohom::bench
