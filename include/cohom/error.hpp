#pragma once
// The few kinds of error the library reports.

#include <cohom/cxx20.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cohom {

/// What went wrong. The values travel between ranks, so they are part of the wire format. When
/// several ranks fail, all get the error of the lowest.
enum class ErrorKind : std::uint32_t {
  invalid_argument = 1,  ///< an argument is wrong by itself (null pointer, unknown codec, ...)
  unsupported = 2,  ///< right in itself, but not available here (an op that cannot be compressed)
  mismatch = 3,     ///< ranks called with different arguments
  state = 4,        ///< used in the wrong order (plan already in flight)
  memory = 5,       ///< not enough of it
  transport = 6,    ///< the transport below failed
};

constexpr std::string_view name_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::invalid_argument: return "invalid argument";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::mismatch: return "mismatch";
    case ErrorKind::state: return "wrong state";
    case ErrorKind::memory: return "out of memory";
    case ErrorKind::transport: return "transport";
  }
  return "?";
}

/// Every error the library throws. `what()` names the argument, its value and what would be right.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace cohom
