#pragma once
// Small files of text that the library writes where its user says.

#include <chrono>
#include <string>
#include <string_view>

namespace cohom {

/// Why a file there cannot be replaced, as far as can be seen by making and removing another one
/// beside it; empty: it can.
std::string why_not_replaceable(const std::string& path);

/// Keeps others waiting, in this process and others of the machine, who hold such a lock of a file
/// in the same folder. Where the file system locks no folders (NFS) nobody waits. Whoever may read
/// a folder may lock it, so waiting ends.
class FolderLock {
 public:
  /// Of the file that the path leads to.
  explicit FolderLock(const std::string& path,
                      std::chrono::milliseconds patience = std::chrono::seconds(10));
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

  /// All that time.
  [[nodiscard]] bool others_hold_it() const { return others_hold_it_; }

 private:
  int folder_;
  bool others_hold_it_ = false;
};

/// Replaces a regular file, or makes one, as a whole: written beside it and renamed, so that a
/// reader never meets a part. Links are followed, also to a file that is not there yet, and the
/// mode stays. @returns why not; empty: it is done
std::string replace_file(const std::string& path, std::string_view content);

}  // namespace cohom
