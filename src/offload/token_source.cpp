#include "offload/token_source.hpp"

#include "environment.hpp"
#include "offload/secret_file.hpp"

#include <cohom/error.hpp>

namespace cohom::offload {

namespace {

constexpr std::size_t max_token_bytes = 1024;
constexpr std::size_t max_line_end_bytes = 2;

}  // namespace

std::string read_token_file(const std::string& path, std::string_view what) {
  const SecretFile file(path, what, SecretFile::Use::read, max_token_bytes + max_line_end_bytes);
  std::string token = file.content();
  if (token.ends_with('\n')) token.pop_back();
  if (token.ends_with('\r')) token.pop_back();
  if (token.empty()) file.fail("it is empty; it should hold a secret");
  if (token.size() > max_token_bytes) file.fail("it is too long; a token has at most 1024 bytes");
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
