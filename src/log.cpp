#include "log.hpp"

#include "environment.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <unordered_set>

namespace cohom {

namespace {

std::shared_ptr<spdlog::logger> make_logger() {
  auto logger =
      std::make_shared<spdlog::logger>("cohom", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("[cohom %l] %v");
  const std::string text = option_or_environment({}, "COHOM_LOG", "warn");
  logger->set_level(spdlog::level::from_str(text));
  if (logger->level() == spdlog::level::off && text != "off") {  // what spdlog makes of nonsense
    logger->set_level(spdlog::level::warn);
    logger->warn("COHOM_LOG={} is no level; there are off, warn and info. Taking warn", text);
  }
  return logger;
}

void once(spdlog::level::level_enum level, const std::string& message) {
  static std::mutex mutex;
  static std::unordered_set<std::string> seen;
  if (!log().should_log(level)) return;
  const std::lock_guard lock(mutex);
  if (seen.insert(message).second) log().log(level, message);
}

}  // namespace

spdlog::logger& log() {
  static const std::shared_ptr<spdlog::logger> logger = make_logger();
  return *logger;
}

void log_once(const std::string& message) { once(spdlog::level::info, message); }

void warn_once(const std::string& message) { once(spdlog::level::warn, message); }

}  // namespace cohom
