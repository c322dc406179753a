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
#include <thread>

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

/// Where all links lead, also one to a file that is not there yet.
std::filesystem::path target_of(std::filesystem::path path, std::error_code& error) {
  constexpr int most_links = 40;
  for (int links = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(path, error));
       ++links) {
    if (links == most_links) {
      error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
      break;
    }
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
    if (error) break;
  }
  if (error && error != std::errc::no_such_file_or_directory) return path;
  return std::filesystem::weakly_canonical(path, error);
}

}  // namespace

FolderLock::FolderLock(const std::string& path, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds pause{10};
  std::error_code error;
  const auto target = target_of(path, error);
  const auto folder = target.has_parent_path() ? target.parent_path() : ".";
  folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) return;
  const Clock::time_point began = Clock::now();
  while (flock(folder_, LOCK_EX | LOCK_NB) != 0 && (errno == EINTR || errno == EWOULDBLOCK)) {
    others_hold_it_ = Clock::now() - began > patience;
    if (others_hold_it_) return;
    std::this_thread::sleep_for(pause);
  }
}

FolderLock::~FolderLock() {
  if (folder_ >= 0) close(folder_);
}

std::string why_not_replaceable(const std::string& path) {
  std::error_code error;
  const auto target = target_of(path, error);
  if (error) return "it cannot be written: " + error.message();
  const auto status = std::filesystem::status(target, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return "it is no regular file";
  if (std::filesystem::exists(status) && access(target.c_str(), W_OK) != 0)
    return std::string("it cannot be written: ") + std::strerror(errno);
  const std::string part = part_beside(target.string());
  if (!part.empty() && std::remove(part.c_str()) == 0) return {};
  const auto folder = target.has_parent_path() ? target.parent_path() : ".";
  return "no file can be made in folder " + folder.string() + ": " + std::strerror(errno);
}

std::string replace_file(const std::string& path, std::string_view content) {
  if (std::string why = why_not_replaceable(path); !why.empty()) return why;
  std::error_code error;
  const auto target = target_of(path, error);
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
