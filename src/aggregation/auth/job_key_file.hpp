#pragma once
// The file in which a job leaves its keys for its owner, who may then ask an aggregator how it is.

#include <cohom/offload.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cohom::offload {

inline constexpr const char* job_key_file_variable = "COHOM_AGGREGATOR_JOB_KEY_FILE";

/// Adds a secret to the file that the environment names, if it names one: a line of 64 hexadecimal
/// digits. The file is made with mode 600, and keeps the newest 64 secrets.
/// @throws Error(invalid_argument) as SecretFile, and for a file with anything else in it.
void keep_job_secret(const JobSecret& secret);

/// All secrets of such a file, each once. `what` names the option in errors.
/// @throws Error(invalid_argument) as keep_job_secret(), and for an empty file.
std::vector<JobSecret> read_job_secrets(const std::string& path, std::string_view what);

}  // namespace cohom::offload
