#include "aggregation/auth/token_source.hpp"

#include "aggregation/auth/secret_file.hpp"
#include "base/environment.hpp"

#include <cohom/error.hpp>

#include <algorithm>

namespace cohom::offload {

namespace {

constexpr std::size_t min_token_bytes = 8;  // who tries others meets a growing delay
constexpr std::size_t max_token_bytes = 1024;
constexpr std::size_t max_line_end_bytes = 2;

/// What is wrong with a token; empty: nothing.
std::string why_no_token(const std::string& token) {
  if (token.empty()) return "it is empty; it should hold a secret";
  if (token.size() < min_token_bytes)
    return "it is too short; a token has at least " + std::to_string(min_token_bytes) + " bytes";
  if (token.size() > max_token_bytes)
    return "it is too long; a token has at most " + std::to_string(max_token_bytes) + " bytes";
  if (std::ranges::any_of(token, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return "it has a control character; a token is one line of text";
  if (std::ranges::all_of(token, [](char c) { return c == ' '; }))
    return "it is blank; it should be a secret";
  return {};
}

}  // namespace

std::string read_token_file(const std::string& path, std::string_view what) {
  const SecretFile file(path, what, SecretFile::Use::read, max_token_bytes + max_line_end_bytes);
  std::string token = file.content();
  if (token.ends_with('\n')) token.pop_back();
  if (token.ends_with('\r')) token.pop_back();
  if (const std::string wrong = why_no_token(token); !wrong.empty()) file.fail(wrong);
  return token;
}

std::string find_token(const std::string& given, std::string_view what,
                       const TokenVariables& variables) {
  if (!given.empty()) return read_token_file(given, what);
  const std::string file = option_or_environment({}, variables.file, "");
  std::string token = option_or_environment({}, variables.token, "");
  const std::string wrong = why_no_token(token);
  if (!token.empty() && !wrong.empty())
    throw Error(ErrorKind::invalid_argument, std::string(variables.token) + ": " + wrong);
  if (file.empty()) return token;
  if (!token.empty())
    throw Error(ErrorKind::invalid_argument, std::string(variables.file) + " and " +
                                                 variables.token +
                                                 " are both set; one of them should be");
  return read_token_file(file, variables.file);
}

}  // namespace cohom::offload
