#include "aggregation/auth/allowed_users.hpp"

#include <cohom/error.hpp>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace cohom::offload {

namespace {

[[noreturn]] void refuse(std::string_view what, const std::string& list, const std::string& name) {
  throw Error(ErrorKind::invalid_argument,
              std::string(what) + " is '" + list + "', and '" + name +
                  "' is no user here; it should be NAME,... of users, their numbers, or any");
}

std::optional<uid_t> number_of(const std::string& name) {
  if (const passwd* const entry = ::getpwnam(name.c_str()); entry != nullptr) return entry->pw_uid;
  uid_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [parsed, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc() || parsed != end || number == static_cast<uid_t>(-1))
    return std::nullopt;
  return number;
}

}  // namespace

AllowedUsers::AllowedUsers() : users_{::geteuid()} {
  if (users_.front() != 0) users_.push_back(0);
}

AllowedUsers AllowedUsers::parse(const std::string& list, std::string_view what) {
  AllowedUsers allowed;
  allowed.any_ = list == "any";
  if (allowed.any_) return allowed;
  allowed.users_.clear();
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = list.find(',', begin);
    const std::string name = list.substr(begin, end - begin);
    const auto number = number_of(name);
    if (!number) refuse(what, list, name);
    allowed.users_.push_back(*number);
  }
  return allowed;
}

bool AllowedUsers::contains(uid_t user) const {
  return any_ || std::ranges::find(users_, user) != users_.end();
}

std::string AllowedUsers::text() const {
  if (any_) return "any user";
  std::string text = users_.size() == 1 ? "user " : "users ";
  for (std::size_t i = 0; i < users_.size(); ++i)
    text += (i == 0 ? "" : i + 1 < users_.size() ? ", " : " and ") + std::to_string(users_[i]);
  return text;
}

}  // namespace cohom::offload
