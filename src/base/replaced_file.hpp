#pragma once
// Small files of text that the library writes where its user says.

#include <string>
#include <string_view>

namespace cohom {

/// Why a file there cannot be replaced, as far as can be seen without writing; empty: it can.
std::string why_not_replaceable(const std::string& path);

/// Replaces a regular file, or makes one, as a whole: written beside it and renamed, so that a
/// reader never meets a part. Links are followed, and the mode stays. @returns why not; empty: it
/// is done
std::string replace_file(const std::string& path, std::string_view content);

}  // namespace cohom
