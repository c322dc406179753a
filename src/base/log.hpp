#pragma once
// The library's log: standard error, level by COHOM_LOG (off, warn, info; warn).

#include <string>

namespace spdlog {
class logger;
}

namespace cohom {

spdlog::logger& log();

/// Lines of this process carry its rank in the job from now on.
void set_log_rank(int rank);

/// Logs at info level, but each message only once a process: for decisions made again every call.
void log_once(const std::string& message);
/// The same at warn level: for what the user would want to change.
void warn_once(const std::string& message);

/// Whether the info level is logged: if not, nobody need put its messages together.
bool logs_info();

/// Logs what all ranks of a communicator would say alike: its rank 0 alone does.
void log_once_for_all(int rank, const std::string& message);

/// The same, as often as it is said: for what is over.
void log_each_for_all(int rank, const std::string& message);

/// Whether this process says what all of the job would: rank 0 of the job does. `rank`, which is
/// one of a communicator, counts where nobody said which rank of the job this is; 0: every process
/// does.
bool speaks_for_all(int rank);
/// Warns of what all ranks of the job would. The others log it at info level: their hosts may
/// differ.
void warn_once_for_all(int rank, const std::string& message);

}  // namespace cohom
