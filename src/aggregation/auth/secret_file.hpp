#pragma once
// SecretFile: a file with secrets, which nobody but this user and root may use.

#include "base/file_descriptor.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace cohom::offload {

class SecretFile {
 public:
  enum class Use {
    read,
    change,  ///< made where there is none, and no other SecretFile changes it meanwhile
  };
  /// `what` names the option in errors.
  /// @throws Error(invalid_argument) for what is no regular file, belongs to another user than this
  /// one and root, can be read or written by anybody else, or is longer than `max_bytes`.
  SecretFile(std::string path, std::string_view what, Use use, std::size_t max_bytes);

  [[nodiscard]] std::string content() const;
  /// Of one that is opened to be changed, once. Whoever reads the file finds all of the old content
  /// or all of the new: another file takes its name. So its folder must be one to write to.
  void replace(std::string_view content) const;
  /// Error(invalid_argument) that names the option and the file.
  [[noreturn]] void fail(const std::string& why) const;

 private:
  void open_to_change();

  std::string path_, what_;
  std::size_t max_bytes_;
  FileDescriptor file_;
};

}  // namespace cohom::offload
