#include "transport/exchange.hpp"

#include "base/failure.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace cohom {

namespace {

/// In front of what a rank tells: 0, or the kind of the error whose text follows.
using Outcome = std::uint32_t;

std::vector<std::byte> outcome_bytes(Outcome outcome, std::span<const std::byte> more) {
  std::vector<std::byte> bytes(sizeof outcome + more.size());
  std::memcpy(bytes.data(), &outcome, sizeof outcome);
  std::ranges::copy(more, bytes.begin() + sizeof outcome);
  return bytes;
}

std::vector<std::byte> run(const std::function<std::vector<std::byte>()>& local) {
  try {
    return outcome_bytes(0, local());
  } catch (...) {
    const Error error = current_failure("what the ranks tell each other");
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

}  // namespace cohom
