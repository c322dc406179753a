#include "offload/token_source.hpp"

#include "environment.hpp"
#include "offload/file_descriptor.hpp"

#include <cohom/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace cohom::offload {

namespace {

constexpr std::size_t max_token_bytes = 1024;

/// Of the file that is open, whatever its name means by now; empty: nothing.
std::string what_is_wrong(const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return "it is no regular file";
  if (file.st_uid != ::geteuid() && file.st_uid != 0)
    return "it belongs to user " + std::to_string(file.st_uid) + "; it should belong to user " +
           std::to_string(::geteuid()) + " or root";
  if ((file.st_mode & 077) != 0) return "others may use it; it should have mode 600 (chmod 600)";
  if (file.st_size > static_cast<off_t>(max_token_bytes) + 1)
    return "it has " + std::to_string(file.st_size) + " bytes; a token has at most 1024";
  return {};
}

}  // namespace

std::string read_token_file(const std::string& path, std::string_view what) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::invalid_argument, std::string(what) + " is '" + path + "': " + why);
  };
  // A link would let its owner choose the file; a pipe would make us wait.
  const FileDescriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!file.open())
    fail(errno == ELOOP ? "it is a symbolic link; name the file itself" : std::strerror(errno));
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) fail(std::strerror(errno));
  if (const std::string wrong = what_is_wrong(about); !wrong.empty()) fail(wrong);
  std::array<char, max_token_bytes + 2> bytes{};
  const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
  if (size < 0) fail(std::strerror(errno));
  std::string token(bytes.data(), static_cast<std::size_t>(size));
  if (token.ends_with('\n')) token.pop_back();
  if (token.ends_with('\r')) token.pop_back();
  if (token.empty()) fail("it is empty; it should hold a secret");
  if (token.size() > max_token_bytes) fail("it is too long; a token has at most 1024 bytes");
  return token;
}

std::string find_token(const std::string& given, std::string_view what,
                       const TokenVariables& variables) {
  if (!given.empty()) return read_token_file(given, what);
  const std::string file = option_or_environment({}, variables.file, "");
  std::string token = option_or_environment({}, variables.token, "");
  if (file.empty()) return token;
  if (!token.empty())
    throw Error(ErrorKind::invalid_argument, std::string(variables.file) + " and " +
                                                 variables.token +
                                                 " are both set; one of them should be");
  return read_token_file(file, variables.file);
}

}  // namespace cohom::offload
