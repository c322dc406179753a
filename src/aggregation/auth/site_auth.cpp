#include "aggregation/auth/site_auth.hpp"

#include "aggregation/auth/munge.hpp"
#include "aggregation/auth/token_source.hpp"
#include "base/environment.hpp"

#include <cohom/error.hpp>

namespace cohom::offload {

namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorKind::invalid_argument, text);
}

/// Once, so that what is wrong is said here and not at each connection.
void try_munge(const std::string& what) {
  try {
    make_credential("cohom");
  } catch (const Error& error) {
    const std::string said = what + " is 'munge': " + error.what();
    if (!has_munge()) throw Error(error.kind(), said);
    refuse(said +
           "; munged should run here, with its socket where libmunge looks for it or where " +
           munge_socket_variable + " says");
  }
}

}  // namespace

SiteAuth find_site_auth(const AuthOptions& given) {
  const std::string what = given.auth.empty() ? auth_variable : "--auth";
  const std::string auth = option_or_environment(given.auth, auth_variable, "token");
  if (auth == "token") {
    if (!given.munge_users.empty())
      refuse("--munge-users is '" + given.munge_users + "'; it should come with --auth munge");
    return {.token = find_token(given.token_file, "--token-file", site_token_variables)};
  }
  if (auth != "munge") refuse(what + " is '" + auth + "'; it should be token or munge");
  if (!given.token_file.empty())
    refuse("--token-file is '" + given.token_file + "', and " + what +
           " is 'munge', which needs no token; one of them should be given");
  try_munge(what);
  const std::string users = option_or_environment(given.munge_users, munge_users_variable, "");
  if (users.empty()) return {.munge = AllowedUsers()};
  return {.munge = AllowedUsers::parse(
              users, given.munge_users.empty() ? munge_users_variable : "--munge-users")};
}

}  // namespace cohom::offload
