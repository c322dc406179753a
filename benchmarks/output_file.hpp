#pragma once
// OutputFile: where a program writes what its command line names, whatever lies there.

#include <optional>
#include <string>
#include <string_view>

namespace cohom::bench {

/// A regular file, or none yet, is replaced as a whole: a reader never meets a part, and what
/// failed leaves the old content. Links are followed. Anything else (a device, a pipe, a descriptor
/// of the program such as /dev/stdout) cannot be replaced: it gets the last content, once.
class OutputFile {
 public:
  /// `flag` is what named the path, and part of every message, e.g. "--json". Finds out now what
  /// can be known before the work: the folder, the file's mode, the device. Waits for a reader if
  /// `path` is a pipe without one.
  /// @throws std::runtime_error naming the path and why it cannot be written
  OutputFile(std::string_view flag, const std::string& path);
  /// Hands a pipe or a device what it has not got yet, and tells only standard error if it cannot.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Replaces the file; remembers `content` for a pipe or a device.
  /// @throws std::runtime_error as the constructor does; the file is as before
  void write(std::string content);
  /// Hands a pipe or a device what write() remembered. Call it when all is written.
  /// @throws std::runtime_error as the constructor does
  void close();

 private:
  void replace(std::string_view content) const;
  void take_descriptor(int descriptor);

  std::string name_;    // for messages: the flag and the path as it was given
  std::string target_;  // of all links; empty when the content goes to descriptor_
  int descriptor_ = -1;
  std::optional<std::string> pending_;
};

}  // namespace cohom::bench
