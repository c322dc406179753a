#include "output_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace cohom::bench {
namespace {

namespace fs = std::filesystem;

constexpr int max_links = 40;   // Linux's own bound
constexpr int max_names = 100;  // of partial files that ended programs have left behind

[[noreturn]] void fail(const std::string& name, const std::string& why) {
  throw std::runtime_error(name + ": cannot be written: " + why);
}

std::string reason(int error) { return std::generic_category().message(error); }

/// A write to a pipe without a reader is an error, and no signal that ends the program.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec at_once{};
    if (!::sigismember(&before_, SIGPIPE)) ::sigtimedwait(&signal_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t signal_, before_;
};

/// Returns 0 or the error.
int write_all(int descriptor, std::string_view content) {
  const NoBrokenPipe guard;
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// The descriptor of this program that `path` stands for, as /proc/self/fd/1 does, or -1. It cannot
/// be opened by that name where it is a socket, and a second opening of a file begins at its start.
int own_descriptor(const fs::path& path) {
  std::error_code error;
  const fs::path folder = fs::canonical(path.parent_path(), error);
  if (error || folder != "/proc/" + std::to_string(::getpid()) + "/fd") return -1;
  const std::string name = path.filename();
  int number = -1;
  const auto [stop, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
  return wrong == std::errc{} && *stop == '\0' ? number : -1;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// A new file beside `target` with its mode; sets `partial` to its name.
int open_partial(const std::string& target, std::string& partial) {
  struct stat old {};
  const bool replaces = ::stat(target.c_str(), &old) == 0;
  for (int i = 0; i < max_names; ++i) {
    partial = target + ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;
    if (file >= 0 && replaces) {
      // The owner first: a change of owner may take bits of the mode away. Not everyone may.
      if (::fchown(file, old.st_uid, old.st_gid) != 0) errno = 0;
      ::fchmod(file, old.st_mode & 07777);
    }
    return file;
  }
  return -1;
}

}  // namespace

/// As fcntl() and open() give it.
void OutputFile::take_descriptor(int descriptor) {
  if (descriptor < 0) fail(name_, reason(errno));
  descriptor_ = descriptor;
}

OutputFile::OutputFile(std::string_view flag, const std::string& path)
    : name_(std::string(flag) + " " + path) {
  fs::path target = path;
  std::error_code error;
  for (int links = 0;; ++links) {
    if (const int own = own_descriptor(target); own >= 0) {
      take_descriptor(::fcntl(own, F_DUPFD_CLOEXEC, 3));
      return;
    }
    if (!fs::is_symlink(target, error)) break;
    if (links == max_links) fail(name_, reason(ELOOP));
    const fs::path next = fs::read_symlink(target, error);
    if (error) fail(name_, error.message());
    target = target.parent_path() / next;  // an absolute one replaces all
  }
  struct stat status {};
  const bool is_there = ::stat(target.c_str(), &status) == 0;
  if (!is_there && errno != ENOENT) fail(name_, reason(errno));
  if (is_there && S_ISDIR(status.st_mode)) fail(name_, reason(EISDIR));
  if (is_there && !S_ISREG(status.st_mode)) {
    take_descriptor(::open(target.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    return;
  }
  // Replacing it needs no right to write it, so ask for that as well.
  if (is_there && ::access(target.c_str(), W_OK) != 0) fail(name_, reason(errno));
  const fs::path folder = folder_of(target);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    fail(name_, "folder " + folder.string() + ": " + reason(errno));
  target_ = target;
}

OutputFile::~OutputFile() {
  try {
    close();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string content) {
  if (target_.empty())
    pending_ = std::move(content);
  else
    replace(content);
}

void OutputFile::close() {
  if (!pending_) return;
  const std::string content = *std::exchange(pending_, std::nullopt);
  int error = write_all(descriptor_, content);
  if (::close(std::exchange(descriptor_, -1)) != 0 && error == 0) error = errno;
  if (error != 0) fail(name_, reason(error));
}

void OutputFile::replace(std::string_view content) const {
  std::string partial;
  const int file = open_partial(target_, partial);
  if (file < 0) fail(name_, reason(errno));
  int error = write_all(file, content);
  if (::close(file) != 0 && error == 0) error = errno;  // some file systems find out here
  if (error == 0 && ::rename(partial.c_str(), target_.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(partial.c_str());
  fail(name_, reason(error));
}

}  // namespace cohom::bench
