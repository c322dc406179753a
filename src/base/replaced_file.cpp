#include "base/replaced_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace cohom {

namespace {

/// Makes a file of a name that nobody else has. @returns empty: it cannot be made, and errno says
/// why
std::string part_beside(const std::string& target) {
  constexpr int most_left_behind = 1000;  // by programs that ended in between
  for (int number = 0; number < most_left_behind; ++number) {
    std::string part = target + "." + std::to_string(getpid()) + "." + std::to_string(number);
    const int file = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
      close(file);
      return part;
    }
    if (errno != EEXIST) break;
  }
  return {};
}

}  // namespace

FolderLock::FolderLock(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(path, error);
  const auto folder = target.has_parent_path() ? target.parent_path() : ".";
  folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) return;
  while (flock(folder_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

FolderLock::~FolderLock() {
  if (folder_ >= 0) close(folder_);
}

std::string why_not_replaceable(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(path, error);
  if (error) return "it cannot be written: " + error.message();
  const auto status = std::filesystem::status(target, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return "it is no regular file";
  const auto folder = target.has_parent_path() ? target.parent_path() : ".";
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return "folder " + folder.string() + " cannot be written: " + std::strerror(errno);
  return {};
}

std::string replace_file(const std::string& path, std::string_view content) {
  if (std::string why = why_not_replaceable(path); !why.empty()) return why;
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(path, error);
  const auto status = std::filesystem::status(target, error);
  const std::string part = part_beside(target.string());
  if (part.empty()) return std::string("it cannot be written: ") + std::strerror(errno);
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (file && std::filesystem::exists(status))
    std::filesystem::permissions(part, status.permissions(), error);
  if (file && std::rename(part.c_str(), target.c_str()) == 0) return {};
  const int reason = errno;
  std::remove(part.c_str());
  return std::string("it cannot be written: ") + std::strerror(reason);
}

}  // namespace cohom
