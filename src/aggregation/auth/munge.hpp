#pragma once
// munge: credentials that a site's munged makes and checks, and that say which user asked for them.
// In builds without libmunge has_munge() is false, and everything else here is an error.

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace cohom::offload {

/// The path of munged's socket, where it is another than libmunge's own.
inline constexpr const char* munge_socket_variable = "COHOM_MUNGE_SOCKET";
/// Those of a handshake have 300.
inline constexpr std::size_t max_credential_bytes = 1024;

bool has_munge();

/// A credential of this user for a text. Waits for munged: for less than a millisecond while it is
/// well.
/// @throws Error(unsupported) in builds without libmunge, Error(transport) when munged does not
/// answer.
std::string make_credential(std::string_view text);

/// The user who has made this credential for this text. munged takes each credential once.
/// @throws Error(invalid_argument) for a credential that is none, was taken before, is too old or
/// for another text; otherwise as make_credential().
uid_t user_of_credential(const std::string& credential, std::string_view text);

}  // namespace cohom::offload
