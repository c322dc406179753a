#include "offload/secret_file.hpp"

#include <cohom/error.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cohom::offload {

namespace {

// A link would let its owner choose the file; a pipe would make us wait.
constexpr int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

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

}  // namespace

SecretFile::SecretFile(std::string path, std::string_view what, Use use, std::size_t max_bytes)
    : path_(std::move(path)),
      what_(what),
      max_bytes_(max_bytes),
      file_(use == Use::read ? ::open(path_.c_str(), flags | O_RDONLY)
                             : ::open(path_.c_str(), flags | O_RDWR | O_CREAT, 0600)) {
  if (!file_.open())
    fail(errno == ELOOP ? "it is a symbolic link; name the file itself" : std::strerror(errno));
  if (use == Use::change && ::flock(file_.get(), LOCK_EX) != 0) fail(std::strerror(errno));
  struct stat about {};
  if (::fstat(file_.get(), &about) != 0) fail(std::strerror(errno));
  if (const std::string wrong = what_is_wrong(about, max_bytes); !wrong.empty()) fail(wrong);
}

std::string SecretFile::content() const {
  std::string content(max_bytes_, '\0');
  const ssize_t size = ::pread(file_.get(), content.data(), content.size(), 0);
  if (size < 0) fail(std::strerror(errno));
  content.resize(static_cast<std::size_t>(size));
  return content;
}

void SecretFile::replace(std::string_view content) const {
  if (::pwrite(file_.get(), content.data(), content.size(), 0) !=
          static_cast<ssize_t>(content.size()) ||
      ::ftruncate(file_.get(), static_cast<off_t>(content.size())) != 0)
    fail(std::string("it cannot be written: ") + std::strerror(errno));
}

void SecretFile::fail(const std::string& why) const {
  throw Error(ErrorKind::invalid_argument, what_ + " is '" + path_ + "': " + why);
}

}  // namespace cohom::offload
