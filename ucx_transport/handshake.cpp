#include "ucx_transport/handshake.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

namespace cohom::ucx {

namespace {

/// In front of what a rank tells: 0, or the kind of the error whose text follows.
using Outcome = std::uint32_t;

/// What lies before the address.
struct Head {
  std::uint64_t magic = 0x31786375'6d6f686f;  // "ohomucx1"
  std::uint64_t worker = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t group = 0;
};

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  const std::size_t before = bytes.size();
  bytes.resize(before + more.size());
  std::ranges::copy(more, bytes.begin() + static_cast<std::ptrdiff_t>(before));
}

std::vector<std::byte> outcome_bytes(Outcome outcome, std::span<const std::byte> more) {
  std::vector<std::byte> bytes;
  append(bytes, std::as_bytes(std::span(&outcome, 1)));
  append(bytes, more);
  return bytes;
}

std::vector<std::byte> run(const std::function<std::vector<std::byte>()>& local) {
  try {
    return outcome_bytes(0, local());
  } catch (const Error& error) {
    const std::string text = error.what();
    return outcome_bytes(static_cast<Outcome>(error.kind()), std::as_bytes(std::span(text)));
  }
}

}  // namespace

std::vector<std::vector<std::byte>> tell_all(const Exchange& exchange,
                                             const std::function<std::vector<std::byte>()>& local) {
  auto all = exchange(run(local));
  for (std::size_t r = 0; r < all.size(); ++r) {
    Outcome outcome = static_cast<Outcome>(ErrorKind::transport);
    std::string text = "told nothing";
    if (all[r].size() >= sizeof outcome) {
      std::memcpy(&outcome, all[r].data(), sizeof outcome);
      const auto rest = std::span(all[r]).subspan(sizeof outcome);
      text.assign(reinterpret_cast<const char*>(rest.data()), rest.size());
    }
    if (outcome != 0)
      throw Error(static_cast<ErrorKind>(outcome), "rank " + std::to_string(r) + ": " + text);
    all[r].erase(all[r].begin(), all[r].begin() + sizeof outcome);
  }
  return all;
}

std::vector<std::byte> to_bytes(const Introduction& introduction) {
  const Head head{.worker = introduction.worker,
                  .message_bytes = introduction.message_bytes,
                  .group = introduction.group};
  std::vector<std::byte> bytes;
  append(bytes, std::as_bytes(std::span(&head, 1)));
  append(bytes, introduction.address);
  return bytes;
}

Introduction introduction_of(const std::vector<std::byte>& bytes) {
  Head head;
  const std::uint64_t magic = head.magic;
  if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
  if (bytes.size() < sizeof head || head.magic != magic)
    throw Error(ErrorKind::transport, "ranks run different versions of cohom");
  return {.worker = head.worker,
          .message_bytes = head.message_bytes,
          .group = static_cast<std::uint32_t>(head.group),
          .address = {bytes.begin() + sizeof head, bytes.end()}};
}

}  // namespace cohom::ucx
