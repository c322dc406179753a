#pragma once
// The file that this code was loaded from: other files of cohom lie beside it.

#include <filesystem>

namespace cohom {

/// The library that this code is in, or the program that it is a part of: an absolute path,
/// whatever the program was started as. Empty where the system does not know one.
std::filesystem::path own_file();

/// Whether the file is as safe to run as this code: it belongs to this user, to root or to whoever
/// owns own_file(), and nobody else may write to it, but for a group that may write to own_file(),
/// too.
bool is_as_safe_as_own_file(const std::filesystem::path& path);

}  // namespace cohom
