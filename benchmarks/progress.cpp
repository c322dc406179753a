#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace cohom::bench {
namespace {

/// mpirun hands its processes a pipe and copies from it to its own standard error: ask where that
/// goes. Linux only, and only on the launcher's host; elsewhere there is no progress line.
bool launcher_is_on_terminal() {
  std::error_code error;
  const auto target =
      std::filesystem::read_symlink(fmt::format("/proc/{}/fd/2", ::getppid()), error);
  return !error &&
         (target.string().starts_with("/dev/pts/") || target.string().starts_with("/dev/tty"));
}

}  // namespace

Progress::Progress(bool wanted, std::size_t rows)
    : visible_(wanted && (::isatty(STDERR_FILENO) == 1 || launcher_is_on_terminal())),
      rows_(rows) {}

// The cursor goes back to the line's begin each time: rows printed to standard output, which are
// longer, then cover the line whichever stream the launcher copies first.
void Progress::show(const std::string& row) {
  ++row_;
  if (!visible_) return;
  const std::string text = fmt::format("[{}/{}] {}", row_, rows_, row).substr(0, 79);
  fmt::print(stderr, "{:<{}}\r", text, width_);
  width_ = text.size();
}

void Progress::clear() {
  if (!visible_ || width_ == 0) return;
  fmt::print(stderr, "{:{}}\r", "", width_);
  width_ = 0;
}

}  // namespace cohom::bench
