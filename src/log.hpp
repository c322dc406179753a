#pragma once
// The library's log: standard error, level by COHOM_LOG (off, warn, info; warn).

#include <string>

namespace spdlog {
class logger;
}

namespace cohom {

spdlog::logger& log();

/// Logs at info level, but each message only once a process: for decisions made again every call.
void log_once(const std::string& message);
/// The same at warn level: for what the user would want to change.
void warn_once(const std::string& message);

}  // namespace cohom
