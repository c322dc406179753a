#include "ucx_transport/address_probe.hpp"

#include "ucx_transport/worker.hpp"

#include "aggregation/protocol/ucx_address.hpp"
#include "base/file_descriptor.hpp"
#include "base/own_file.hpp"

#include <cohom/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

extern char** environ;

namespace cohom::ucx {

namespace {

using offload::FileDescriptor;

constexpr std::chrono::seconds patience{5};     ///< UCX needs some tenths of a second to start
constexpr int poll_interval_milliseconds = 50;  ///< whether to stop
constexpr int socket_of_probe = 0;              ///< its standard input
constexpr const char* taken = "+";
constexpr std::size_t max_answer_bytes = 512;

/// What is tried first has UCX's settings, in one packet: transports, devices, features.
std::string settings_text(const ContextSettings& settings) {
  return settings.transports + "\n" + settings.devices + "\n" + std::to_string(settings.features);
}

ContextSettings settings_of(std::string_view text) {
  ContextSettings settings;
  const auto first = text.find('\n'), second = text.find('\n', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos)
    throw Error(ErrorKind::transport, "what starts a probe is not what it expects");
  settings.transports = text.substr(0, first);
  settings.devices = text.substr(first + 1, second - first - 1);
  settings.features = std::strtoull(std::string(text.substr(second + 1)).c_str(), nullptr, 10);
  settings.addresses_may_be_wrong = true;
  return settings;
}

/// The caller's environment, in which a UCX that gives up just ends: it prints nothing and waits
/// for no debugger. Secrets are not for a process that is there to be broken.
std::vector<std::string> environment_of_probe() {
  constexpr std::string_view without[] = {
      "UCX_HANDLE_ERRORS=", "UCX_LOG_LEVEL=", "COHOM_AGGREGATOR"};
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::ranges::none_of(without, [text = std::string_view(*variable)](std::string_view name) {
          return text.starts_with(name);
        }))
      variables.emplace_back(*variable);
  variables.emplace_back("UCX_HANDLE_ERRORS=none");
  variables.emplace_back("UCX_LOG_LEVEL=fatal");
  return variables;
}

bool is_program(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0 &&
         is_as_safe_as_own_file(path);
}

}  // namespace

std::optional<std::string> probe_program() {
  if (const char* const given = std::getenv("COHOM_PROBE_PROGRAM"); given != nullptr) {
    if (*given == '\0') return std::nullopt;
    if (is_program(given)) return given;
    throw Error(ErrorKind::invalid_argument, "COHOM_PROBE_PROGRAM is '" + std::string(given) +
                                                 "'; it should be the path of the program "
                                                 "cohom-ucx-probe, which nobody may write to but "
                                                 "its owner, this user or root; or empty");
  }
  constexpr const char* name = "cohom-ucx-probe";
  std::error_code error;
  const auto folder = std::filesystem::canonical(own_file(), error).parent_path();
  for (const char* place : {".", "../bin", COHOM_PROGRAMS_FROM_LIBRARY})
    if (!error && is_program(folder / place / name)) return (folder / place / name).string();
  const auto installed = std::filesystem::path(COHOM_INSTALLED_PROGRAMS) / name;
  return is_program(installed) ? std::optional(installed.string()) : std::nullopt;
}

/// Ends with its owner.
class AddressProbe::Process {
 public:
  Process(const std::string& program, const ContextSettings& settings) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
      fail("socketpair", errno);
    socket_ = FileDescriptor(ends[0]);
    const FileDescriptor other(ends[1]);
    start(program, other.get());
    const std::string text = settings_text(settings);
    send(std::as_bytes(std::span(text)));
  }
  ~Process() {
    ::kill(process_, SIGKILL);
    // Where the program ignores SIGCHLD nothing is to be waited for.
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool send(std::span<const std::byte> packet) {
    return ::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(packet.size());
  }
  /// None: it has ended, or answers no more, or is to stop.
  std::optional<std::string> answer(const std::stop_token& stop) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    std::array<char, max_answer_bytes> text{};
    const auto end = std::chrono::steady_clock::now() + patience;
    while (::poll(&waiting, 1, poll_interval_milliseconds) <= 0)
      if (stop.stop_requested() || std::chrono::steady_clock::now() > end) return std::nullopt;
    const ssize_t bytes = ::recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
    if (bytes <= 0) return std::nullopt;
    return std::string(text.data(), static_cast<std::size_t>(bytes));
  }

 private:
  [[noreturn]] static void fail(const std::string& what, int error) {
    throw Error(ErrorKind::transport,
                "no process to try UCX addresses in: " + what + ": " + std::strerror(error));
  }
  void start(const std::string& program, int socket) {
    // What may throw comes first: what is made below would not be given back.
    auto variables = environment_of_probe();
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    std::string name = program;
    const std::array<char*, 2> arguments{name.data(), nullptr};

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_adddup2(&actions, socket, socket_of_probe);
    // UCX logs to standard output; what it says of bad addresses is nobody's news.
    for (const int output : {1, 2})
      ::posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
#if __GLIBC_PREREQ(2, 34)
    ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
    // The thread that starts it may have blocked signals, and the program may ignore some.
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error = ::posix_spawn(&process_, program.c_str(), &actions, &attributes,
                                    arguments.data(), environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0) fail(program, error);
  }

  FileDescriptor socket_;
  pid_t process_ = -1;
};

AddressProbe::AddressProbe(std::string program, ContextSettings settings)
    : program_(std::move(program)), settings_(std::move(settings)) {}

AddressProbe::~AddressProbe() = default;

void AddressProbe::rest() { process_.reset(); }

/// None: the process has ended over it.
std::optional<std::string> AddressProbe::ask(std::span<const std::byte> address,
                                             const std::stop_token& stop) {
  if (!process_) process_ = std::make_unique<Process>(program_, settings_);
  std::optional<std::string> answer;
  if (process_->send(address)) answer = process_->answer(stop);
  if (!answer) process_.reset();
  return answer;
}

std::string AddressProbe::why_not(std::span<const std::byte> address, const std::stop_token& stop) {
  auto answer = ask(address, stop);
  // Anybody may have ended it before; a process that knows nothing else decides.
  if (!answer && !stop.stop_requested()) answer = ask(address, stop);
  if (!answer) return "UCX would end the process that connects to it";
  return *answer == taken ? std::string() : *answer;
}

void answer_probes(int socket) {
  std::array<char, offload::max_ucx_address_bytes> packet{};
  const auto next = [&] {
    const ssize_t bytes = ::recv(socket, packet.data(), packet.size(), 0);
    return bytes < 0 ? std::string_view{}
                     : std::string_view(packet.data(), static_cast<std::size_t>(bytes));
  };
  Worker worker(settings_of(next()));
  for (std::string_view address = next(); !address.empty(); address = next()) {
    std::string answer = taken;
    try {
      worker.make_endpoint(std::as_bytes(std::span(address)));
    } catch (const Error& error) {
      answer = std::string(error.what()).substr(0, max_answer_bytes);
    }
    if (::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
  }
}

}  // namespace cohom::ucx
