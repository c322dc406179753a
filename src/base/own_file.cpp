#include "base/own_file.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cohom {

namespace {

constexpr const char* own_program = "/proc/self/exe";

/// As the system opens it. Of a program dladdr() says what it was started as, which is a name to
/// look up in PATH or anything else; the loader's own name of a program is empty.
std::filesystem::path loaded_file() {
  Dl_info info{};
  link_map* map = nullptr;
  if (::dladdr1(reinterpret_cast<const void*>(&own_file), &info, reinterpret_cast<void**>(&map),
                RTLD_DL_LINKMAP) == 0 ||
      map == nullptr)
    return {};
  if (*map->l_name == '\0') return own_program;
  const std::filesystem::path library = map->l_name;
  // The folder that another path began in may not be the current one any more.
  return library.is_absolute() ? library : std::filesystem::path();
}

}  // namespace

std::filesystem::path own_file() {
  const auto file = loaded_file();
  std::error_code error;
  return file == own_program ? std::filesystem::read_symlink(file, error) : file;
}

bool is_as_safe_as_own_file(const std::filesystem::path& path) {
  struct stat file {
  }, own{};
  if (::stat(path.c_str(), &file) != 0) return false;
  const bool knows_own = ::stat(loaded_file().c_str(), &own) == 0;
  const bool own_group_writes =
      knows_own && (own.st_mode & S_IWGRP) != 0 && own.st_gid == file.st_gid;
  const mode_t strangers = own_group_writes ? S_IWOTH : S_IWGRP | S_IWOTH;
  return (file.st_mode & strangers) == 0 && (file.st_uid == 0 || file.st_uid == ::geteuid() ||
                                             (knows_own && file.st_uid == own.st_uid));
}

}  // namespace cohom
