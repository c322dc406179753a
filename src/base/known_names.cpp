#include "base/known_names.hpp"

#include "base/log.hpp"
#include "base/option_keys.hpp"
#include "base/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>

namespace cohom {
namespace {

constexpr std::string_view variable_prefix = "COHOM_";
constexpr std::string_view key_prefix = "cohom_";

constexpr std::string_view variables[] = {
    "COHOM_ADVISE",
    "COHOM_ADVISE_JSON",
    "COHOM_ADVISE_RULES",
    "COHOM_AGGREGATOR_AUTH",
    "COHOM_AGGREGATOR_CORES",
    "COHOM_AGGREGATOR_JOB_KEY_FILE",
    "COHOM_AGGREGATOR_MUNGE_USERS",
    "COHOM_AGGREGATOR_OPERATOR_TOKEN",
    "COHOM_AGGREGATOR_OPERATOR_TOKEN_FILE",
    "COHOM_AGGREGATOR_TOKEN_FILE",
    "COHOM_AGGREGATOR",
    "COHOM_AGGREGATOR_TOKEN",
    "COHOM_ALGORITHM",
    "COHOM_BENCH",
    "COHOM_CHECKSUM",
    "COHOM_BENCH_COUNTERS",
    "COHOM_CODEC",
    "COHOM_CUDA_LIBRARY",
    "COHOM_DECISIONS",
    "COHOM_ISA",
    "COHOM_DEVICE_PATH",
    "COHOM_DROP_IN",
    "COHOM_JOB",
    "COHOM_LOG",
    "COHOM_ROOT",
    "COHOM_SEGMENT",
    "COHOM_MESSAGE_BYTES",
    "COHOM_MPI",
    "COHOM_MUNGE_SOCKET",
    "COHOM_NATIVE",
    "COHOM_NODE_MEMORY",
    "COHOM_PLAN_MEMORY",
    "COHOM_PROBE_PROGRAM",
    "COHOM_PROGRESS",
    "COHOM_PYTHON_LIBRARY",
    "COHOM_THREADS",
    "COHOM_TIMEOUT",
    "COHOM_TOPOLOGY",
    "COHOM_TORCH",
    "COHOM_TRANSPORT",
};

/// UCX reads the first, under whatever names it has; the others are of our tests.
constexpr std::string_view foreign[] = {"COHOM_UCX_", "COHOM_TEST_", "COHOM_SOAK",
                                        "COHOM_OFFLOAD_"};

bool begins_in_any_case(std::string_view text, std::string_view prefix) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() >= prefix.size() &&
         std::ranges::equal(text.substr(0, prefix.size()), prefix, {}, lower, lower);
}

/// What all names have in common says nothing about which of them is near.
std::string nearest(std::string_view name, std::span<const std::string_view> known,
                    std::size_t prefix) {
  std::vector<std::string_view> ends;
  for (const std::string_view each : known) ends.push_back(each.substr(prefix));
  return suggestion(name.substr(prefix), ends).empty() ? std::string() : suggestion(name, known);
}

/// Of "cohomcodec" and "cohom-codek": what it may mean. None: it is no key of cohom's.
std::optional<std::string> meant_without_underscore(std::string_view key) {
  constexpr std::string_view name = key_prefix.substr(0, key_prefix.size() - 1);
  if (!begins_in_any_case(key, name) || key.size() == name.size()) return std::nullopt;
  if (const char next = key[name.size()]; next == '-' || next == '.' || next == ' ')
    return nearest(key, option_keys(), key_prefix.size());
  const std::string_view rest = key.substr(name.size());
  for (const std::string_view known : option_keys()) {
    const std::string_view end = known.substr(key_prefix.size());
    if (rest.size() == end.size() && begins_in_any_case(rest, end))
      return "; did you mean " + std::string(known);
  }
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> known_variables() { return variables; }

std::vector<std::string> unknown_variables(std::span<const char* const> environment) {
  std::vector<std::string> said;
  for (const std::string_view entry : environment) {
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!begins_in_any_case(name, variable_prefix)) continue;
    if (std::ranges::find(variables, name) != std::end(variables)) continue;
    if (std::ranges::any_of(foreign, [&](auto prefix) { return name.starts_with(prefix); }))
      continue;
    said.push_back("nothing reads the environment variable " + std::string(name) +
                   nearest(name, variables, variable_prefix.size()));
  }
  return said;
}

void warn_of_unknown_variables() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::size_t count = 0;
    while (environ != nullptr && environ[count] != nullptr) ++count;
    for (const std::string& text : unknown_variables({environ, count})) warn_once(text);
  });
}

std::string ignored_key(std::string_view key) {
  if (key.starts_with(key_prefix)) return {};
  const auto meant = begins_in_any_case(key, key_prefix)
                         ? nearest(key, option_keys(), key_prefix.size())
                         : meant_without_underscore(key);
  if (!meant) return {};
  return "the Info key " + std::string(key) + " is ignored, as keys of cohom begin with " +
         std::string(key_prefix) + *meant;
}

}  // namespace cohom
