#include "aggregation/auth/job_key_file.hpp"

#include "aggregation/auth/secret_file.hpp"
#include "base/environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace cohom::offload {

namespace {

constexpr std::size_t max_secrets = 64;
constexpr std::size_t digits = 2 * std::tuple_size_v<JobSecret>;
constexpr std::size_t line_bytes = digits + 1;
constexpr std::size_t max_bytes = max_secrets * line_bytes;

std::string line_of(const JobSecret& secret) {
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  std::string line;
  for (const std::byte byte : secret) {
    line += hexadecimal[std::to_integer<std::size_t>(byte >> 4)];
    line += hexadecimal[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return line + '\n';
}

/// Whether that is the line of a secret.
bool read_line(std::string_view line, JobSecret& secret) {
  if (line.size() != line_bytes || line.back() != '\n') return false;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::uint8_t value = 0;
    const char* const pair = line.data() + 2 * i;
    if (const auto [end, error] = std::from_chars(pair, pair + 2, value, 16);
        error != std::errc() || end != pair + 2)
      return false;
    secret[i] = std::byte{value};
  }
  return true;
}

std::vector<JobSecret> secrets_of(const SecretFile& file) {
  std::vector<JobSecret> secrets;
  const std::string content = file.content();
  for (std::size_t at = 0; at < content.size(); at += line_bytes) {
    JobSecret secret;
    if (!read_line(std::string_view(content).substr(at, line_bytes), secret))
      file.fail("line " + std::to_string(at / line_bytes + 1) +
                " is no key of a job (64 hexadecimal digits); it should be a file that " +
                job_key_file_variable + " has made");
    if (std::ranges::find(secrets, secret) == secrets.end()) secrets.push_back(secret);
  }
  return secrets;
}

}  // namespace

void keep_job_secret(const JobSecret& secret) {
  const std::string path = option_or_environment({}, job_key_file_variable, "");
  if (path.empty()) return;
  const SecretFile file(path, job_key_file_variable, SecretFile::Use::change, max_bytes);
  std::vector<JobSecret> secrets = secrets_of(file);
  if (std::ranges::find(secrets, secret) != secrets.end()) return;
  if (secrets.size() == max_secrets) secrets.erase(secrets.begin());
  secrets.push_back(secret);
  std::string content;
  for (const JobSecret& each : secrets) content += line_of(each);
  file.replace(content);
}

std::vector<JobSecret> read_job_secrets(const std::string& path, std::string_view what) {
  const SecretFile file(path, what, SecretFile::Use::read, max_bytes);
  std::vector<JobSecret> secrets = secrets_of(file);
  if (secrets.empty()) file.fail("it is empty; it should have a key of a job in each line");
  return secrets;
}

}  // namespace cohom::offload
