#include "topology/rank_place.hpp"

#include "topology/binding.hpp"
#include "topology/machine.hpp"
#include "topology/slurm_switch.hpp"

#include <cohom/error.hpp>

#include <cstring>
#include <utility>

namespace cohom {

namespace {

/// What lies before the words of the threads and the given text.
struct Head {
  std::uint64_t magic = 0x31656361'6c706863;  // "chplace1"
  std::uint64_t node = 0;
  std::uint64_t network_switch = 0;
  std::uint32_t numa_domain = 0;
  std::uint32_t job_rank = 0;
  std::uint32_t job_ranks = 0;
  std::uint32_t thread_words = 0;
  std::uint32_t given_bytes = 0;
  std::uint32_t zero = 0;
};

/// 65536 hardware threads: more than any machine has.
constexpr std::uint32_t max_thread_words = 1024;

[[noreturn]] void refuse(std::size_t rank, const std::string& why) {
  throw Error(ErrorKind::transport, "rank " + std::to_string(rank) +
                                        " tells where it runs in a way nobody understands (" + why +
                                        "); do all ranks run the same version of cohom?");
}

}  // namespace

std::vector<std::byte> to_bytes(const RankPlace& place) {
  const std::span<const std::uint64_t> words = place.threads.words();
  const Head head{.node = place.node,
                  .network_switch = place.network_switch,
                  .numa_domain = place.numa_domain,
                  .job_rank = place.job.rank,
                  .job_ranks = place.job.ranks,
                  .thread_words = static_cast<std::uint32_t>(words.size()),
                  .given_bytes = static_cast<std::uint32_t>(place.given.size())};
  std::vector<std::byte> bytes(sizeof head + words.size_bytes() + place.given.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!words.empty()) std::memcpy(bytes.data() + sizeof head, words.data(), words.size_bytes());
  if (!place.given.empty())
    std::memcpy(bytes.data() + sizeof head + words.size_bytes(), place.given.data(),
                place.given.size());
  return bytes;
}

RankPlace rank_place_of(std::span<const std::byte> bytes, std::size_t rank) {
  Head head;
  const std::uint64_t magic = head.magic;
  if (bytes.size() < sizeof head) refuse(rank, std::to_string(bytes.size()) + " bytes");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != magic) refuse(rank, "another form");
  if (head.thread_words > max_thread_words || head.given_bytes > max_topology_text)
    refuse(rank, "too long a text or set of hardware threads");
  std::vector<std::uint64_t> words(head.thread_words);
  const std::size_t word_bytes = words.size() * sizeof words[0];
  const auto rest = bytes.subspan(sizeof head);
  if (rest.size() != word_bytes + head.given_bytes)
    refuse(rank, std::to_string(bytes.size()) + " bytes, not " +
                     std::to_string(sizeof head + word_bytes + head.given_bytes));
  if (!words.empty()) std::memcpy(words.data(), rest.data(), word_bytes);
  std::string given(head.given_bytes, '\0');
  if (!given.empty()) std::memcpy(given.data(), rest.data() + word_bytes, given.size());
  return {.node = head.node,
          .network_switch = head.network_switch,
          .numa_domain = head.numa_domain,
          .job = {.rank = head.job_rank, .ranks = head.job_ranks},
          .threads = ThreadSet(std::move(words)),
          .given = std::move(given)};
}

namespace {

/// The one that all cores are in that the threads are of.
std::uint32_t numa_domain_of(const ThreadSet& threads, const Machine& machine) {
  std::uint32_t domain = Core::unknown;
  for (const Core& core : machine.cores) {
    if (!core.threads.intersects(threads)) continue;
    if (domain != Core::unknown && domain != core.numa_domain) return Core::unknown;
    domain = core.numa_domain;
  }
  return domain;
}

}  // namespace

RankPlace own_place(const JobRank& job, std::uint64_t node) {
  RankPlace place{.node = node,
                  .network_switch = slurm_switch(),
                  .job = job,
                  .threads = own_threads(),
                  .given = topology_of_environment(job)};
  place.numa_domain = numa_domain_of(place.threads, this_machine());
  return place;
}

}  // namespace cohom
