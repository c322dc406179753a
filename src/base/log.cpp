#include "base/log.hpp"

#include "base/environment.hpp"
#include "base/text.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

namespace cohom {

namespace {

/// Before anybody says it, the launcher's variables do; none: one process, or an unknown launcher.
std::atomic<int> rank_of_process = -1;

int rank_of_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const auto rank = parse_number<int>(option_or_environment({}, variable, {}))) return *rank;
  return -1;
}

int rank_in_job() {
  const int known = rank_of_process.load();
  return known >= 0 ? known : rank_of_launcher();
}

std::string pattern() {
  const int rank = rank_in_job();
  return rank < 0 ? "[cohom %l] %v" : "[cohom %l, rank " + std::to_string(rank) + "] %v";
}

std::shared_ptr<spdlog::logger> make_logger() {
  auto logger =
      std::make_shared<spdlog::logger>("cohom", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(pattern());
  const std::string text = option_or_environment({}, "COHOM_LOG", "warn");
  logger->set_level(spdlog::level::from_str(text));
  if (logger->level() == spdlog::level::off && text != "off") {  // what spdlog makes of nonsense
    logger->set_level(spdlog::level::warn);
    if (speaks_for_all(0))
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

void set_log_rank(int rank) {
  if (rank_of_process.exchange(rank) != rank) log().set_pattern(pattern());
}

bool logs_info() { return log().should_log(spdlog::level::info); }

void log_once(const std::string& message) { once(spdlog::level::info, message); }

void warn_once(const std::string& message) { once(spdlog::level::warn, message); }

void log_once_for_all(int rank, const std::string& message) {
  if (rank == 0) log_once(message);
}

void log_each_for_all(int rank, const std::string& message) {
  if (rank == 0) log().info(message);
}

bool speaks_for_all(int rank) {
  const int in_job = rank_in_job();
  return (in_job >= 0 ? in_job : rank) == 0;
}

void warn_once_for_all(int rank, const std::string& message) {
  speaks_for_all(rank) ? warn_once(message) : log_once(message);
}

}  // namespace cohom
