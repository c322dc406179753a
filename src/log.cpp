#include "log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_set>

namespace cohom {

namespace {

std::shared_ptr<spdlog::logger> make_logger() {
  auto logger =
      std::make_shared<spdlog::logger>("cohom", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("[cohom %l] %v");
  const char* level = std::getenv("COHOM_LOG");
  logger->set_level(level == nullptr ? spdlog::level::warn : spdlog::level::from_str(level));
  return logger;
}

}  // namespace

spdlog::logger& log() {
  static const std::shared_ptr<spdlog::logger> logger = make_logger();
  return *logger;
}

void log_once(const std::string& message) {
  static std::mutex mutex;
  static std::unordered_set<std::string> seen;
  if (!log().should_log(spdlog::level::info)) return;
  const std::lock_guard lock(mutex);
  if (seen.insert(message).second) log().info(message);
}

}  // namespace cohom
