#include "aggregation/auth/secret_file.hpp"

#include <cohom/error.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace cohom::offload {

namespace {

// A link would let its owner choose the file; a pipe would make us wait.
constexpr int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/// Of others, while we wait for our turn. A file system that gives files other numbers each time
/// keeps nobody for ever.
constexpr int max_changes = 10000;

/// Of the file that is open, whatever its name means by now; empty: nothing.
std::string what_is_wrong(const struct stat& file, std::size_t max_bytes) {
  if (!S_ISREG(file.st_mode)) return "it is no regular file";
  if (file.st_uid != ::geteuid() && file.st_uid != 0)
    return "it belongs to user " + std::to_string(file.st_uid) + "; it should belong to user " +
           std::to_string(::geteuid()) + " or root";
  if ((file.st_mode & 077) != 0) return "others may use it; it should have mode 600 (chmod 600)";
  if (file.st_size > static_cast<off_t>(max_bytes))
    return "it has " + std::to_string(file.st_size) + " bytes; it should have at most " +
           std::to_string(max_bytes);
  return {};
}

/// Whether the name still means the file that is open.
bool has_name(const FileDescriptor& file, const std::string& path) {
  struct stat ours {};
  struct stat named {};
  return ::fstat(file.get(), &ours) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

bool write_all(const FileDescriptor& file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t size = ::write(file.get(), content.data(), content.size());
    if (size < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(size));
  }
  return ::fsync(file.get()) == 0;  // a disk that is full may say so only now
}

}  // namespace

SecretFile::SecretFile(std::string path, std::string_view what, Use use, std::size_t max_bytes)
    : path_(std::move(path)), what_(what), max_bytes_(max_bytes) {
  if (use == Use::change)
    open_to_change();
  else
    file_ = FileDescriptor(::open(path_.c_str(), flags | O_RDONLY));
  if (!file_.is_open())
    fail(errno == ELOOP ? "it is a symbolic link; name the file itself" : std::strerror(errno));
  struct stat about {};
  if (::fstat(file_.get(), &about) != 0) fail(std::strerror(errno));
  if (const std::string wrong = what_is_wrong(about, max_bytes); !wrong.empty()) fail(wrong);
}

/// Who had the file before us may have put another one in its place.
void SecretFile::open_to_change() {
  for (int i = 0; i < max_changes; ++i) {
    file_ = FileDescriptor(::open(path_.c_str(), flags | O_RDWR | O_CREAT, 0600));
    if (!file_.is_open()) return;
    if (::flock(file_.get(), LOCK_EX) != 0) fail(std::strerror(errno));
    if (has_name(file_, path_)) return;
  }
  fail("it is another file each time that it is opened");
}

std::string SecretFile::content() const {
  std::string content(max_bytes_, '\0');
  const ssize_t size = ::pread(file_.get(), content.data(), content.size(), 0);
  if (size < 0) fail(std::strerror(errno));
  content.resize(static_cast<std::size_t>(size));
  return content;
}

void SecretFile::replace(std::string_view content) const {
  std::string other = path_ + ".XXXXXX";
  const FileDescriptor file(::mkostemp(other.data(), O_CLOEXEC));  // of mode 600
  if (!file.is_open())
    fail(std::string("no file can be made beside it, to take its place: ") + std::strerror(errno));
  if (write_all(file, content) && ::rename(other.c_str(), path_.c_str()) == 0) return;
  const int error = errno;
  ::unlink(other.c_str());
  fail(std::string("it cannot be written: ") + std::strerror(error));
}

void SecretFile::fail(const std::string& why) const {
  throw Error(ErrorKind::invalid_argument, what_ + " is '" + path_ + "': " + why);
}

}  // namespace cohom::offload
