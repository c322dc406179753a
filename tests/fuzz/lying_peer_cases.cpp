// Cases of lying_peer.hpp by number, many at a time. Child processes run them, so that one that
// crashes or takes too long ends its child alone: its number is printed, and the next child goes on
// behind it.
//
//   lying_peer_cases FIRST COUNT     prints every finding, and a summary; status 1 with findings
//   lying_peer_cases FIRST 1 say     one case in this process, and what its ranks say

#include "lying_peer.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

namespace {

using namespace cohom::test;

constexpr std::uint64_t cases_a_child = 500;
constexpr unsigned seconds_a_case = 120;

/// What a child has done, which its parent reads when it has died.
struct Progress {
  std::atomic<std::uint64_t> next = 0;                      ///< the case at work
  std::array<std::atomic<std::uint64_t>, 3> outcomes = {};  ///< by LyingPeerOutcome
};

Progress& shared_progress() {
  void* const memory =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(2);
  }
  return *new (memory) Progress;
}

void run_cases(Progress& progress, std::uint64_t end) {
  for (; progress.next < end; ++progress.next) {
    alarm(seconds_a_case);
    const LyingPeerCase lying = lying_peer_case(progress.next);
    const LyingPeerReport report = run_lying_peer(lying);
    ++progress.outcomes[std::size_t(report.outcome)];
    if (report.outcome != LyingPeerOutcome::stuck) continue;
    std::printf("stuck: %s\n", lying.name().c_str());
    std::fflush(stdout);
  }
}

int say(std::uint64_t number) {
  const LyingPeerCase lying = lying_peer_case(number);
  std::printf("%s\n", lying.name().c_str());
  std::fflush(stdout);
  const LyingPeerReport report = run_lying_peer(lying);
  for (const std::string& error : report.errors) std::printf("%s\n", error.c_str());
  constexpr const char* outcomes[] = {"finished", "failed", "stuck"};
  std::printf("%s\n", outcomes[std::size_t(report.outcome)]);
  return report.outcome == LyingPeerOutcome::stuck ? 1 : 0;
}

int run_in_children(std::uint64_t first, std::uint64_t count) {
  Progress& progress = shared_progress();
  progress.next = first;
  std::uint64_t crashes = 0;
  while (progress.next < first + count) {
    const std::uint64_t end = std::min(progress.next + cases_a_child, first + count);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      run_cases(progress, end);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      std::perror("lying_peer_cases: a child");
      return 2;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++crashes;
    std::printf("%s: %s\n",
                WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "too slow" : "crash",
                lying_peer_case(progress.next).name().c_str());
    std::fflush(stdout);
    ++progress.next;
  }
  const auto outcome = [&](LyingPeerOutcome which) {
    return static_cast<unsigned long>(progress.outcomes[std::size_t(which)]);
  };
  const unsigned long stuck = outcome(LyingPeerOutcome::stuck);
  std::printf("cases %lu to %lu: %lu finished, %lu ended with an error, %lu stuck, %lu crashed\n",
              static_cast<unsigned long>(first), static_cast<unsigned long>(first + count - 1),
              outcome(LyingPeerOutcome::finished), outcome(LyingPeerOutcome::failed), stuck,
              static_cast<unsigned long>(crashes));
  return crashes + stuck != 0 ? 1 : 0;
}

}  // namespace

int main(int arguments, char** argument) {
  if (arguments < 3) {
    std::fprintf(stderr, "usage: lying_peer_cases FIRST COUNT [say]\n");
    return 2;
  }
  setenv("COHOM_LOG", "off", 1);
  const std::uint64_t first = std::strtoull(argument[1], nullptr, 0);
  if (arguments > 3) return say(first);
  return run_in_children(first, std::strtoull(argument[2], nullptr, 0));
}
