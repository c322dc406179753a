#pragma once
// The names that environment variables and Info keys of cohom have, and what is said of others.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom {

/// All variables that the library, its programs and its job files read, without those of UCX.
std::span<const std::string_view> known_variables();

/// What to say of each variable ("NAME=value") that looks like one of cohom's, in any letter case,
/// and is none, with the nearest known name.
std::vector<std::string> unknown_variables(std::span<const char* const> environment);

/// Warns of them, once a process.
void warn_of_unknown_variables();

/// Of a key that begins as those of cohom, but for letter case or the underscore, and so is
/// another's: what to say of it. Empty for any other key.
std::string ignored_key(std::string_view key);

}  // namespace cohom
