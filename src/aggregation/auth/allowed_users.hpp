#pragma once
// AllowedUsers: the users whom one takes at the other end of a control channel.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace cohom::offload {

class AllowedUsers {
 public:
  /// This user and root.
  AllowedUsers();
  /// NAME,... or their numbers, or `any`. Asks the system for names; may block.
  /// @throws Error(invalid_argument) that begins with `what` for users that are not known.
  static AllowedUsers parse(const std::string& list, std::string_view what);

  [[nodiscard]] bool contains(uid_t user) const;
  /// For the log: "users 0 and 1000".
  [[nodiscard]] std::string text() const;

 private:
  bool any_ = false;
  std::vector<uid_t> users_;
};

}  // namespace cohom::offload
