#include "base/replaced_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace cohom {

std::string why_not_replaceable(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(path, error);
  if (error) return "it cannot be written: " + error.message();
  const auto status = std::filesystem::status(target, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return "it is no regular file";
  return {};
}

std::string replace_file(const std::string& path, std::string_view content) {
  if (std::string why = why_not_replaceable(path); !why.empty()) return why;
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(path, error);
  const auto status = std::filesystem::status(target, error);
  const std::string part = target.string() + "." + std::to_string(getpid());
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
