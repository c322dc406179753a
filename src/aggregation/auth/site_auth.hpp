#pragma once
// SiteAuth: how aggregators and those who come to them prove to each other that they may.

#include "aggregation/auth/allowed_users.hpp"

#include <optional>
#include <string>

namespace cohom::offload {

inline constexpr const char* auth_variable = "COHOM_AGGREGATOR_AUTH";
inline constexpr const char* munge_users_variable = "COHOM_AGGREGATOR_MUNGE_USERS";

struct SiteAuth {
  std::string token = {};                  ///< which both know
  std::optional<AllowedUsers> munge = {};  ///< in its place: the users whom one takes
};

/// What a command line gives; the environment gives the rest.
struct AuthOptions {
  std::string auth, token_file, munge_users;
};

/// Without a token it is empty where tokens are the way.
/// @throws Error(invalid_argument) for options that do not fit, and where munge is the way and
/// there is no munged; Error(unsupported) in builds without libmunge.
SiteAuth find_site_auth(const AuthOptions& given);

}  // namespace cohom::offload
