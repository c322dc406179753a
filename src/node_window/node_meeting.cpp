#include "node_window/node_meeting.hpp"

#include "base/environment.hpp"
#include "base/log.hpp"
#include "node_window/node_transport.hpp"
#include "transport/exchange.hpp"

#include <cohom/error.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohom {

namespace {

constexpr const char* variable = "COHOM_NODE_MEMORY";

/// What a rank tells of its window.
struct Offer {
  std::int64_t process = 0;
  std::int64_t fd = -1;  ///< -1: it has none
  WindowHeader::Token token = {};
};

bool is_wanted() {
  const std::string text = option_or_environment({}, variable, "on");
  if (text != "on" && text != "off")
    throw Error(ErrorKind::invalid_argument,
                std::string(variable) + "=" + text + " is neither on nor off");
  return text == "on";
}

/// Where it decides nothing, it is no error.
void warn_of_wrong_text(const Transport& transport) {
  try {
    static_cast<void>(is_wanted());
  } catch (const Error& error) {
    warn_once_for_all(transport.rank(), error.what());
  }
}

/// Why a rank has no part in its node's windows; empty: it has.
using Reason = std::string;

/// This rank's window, or why it has none. @throws Error(invalid_argument)
std::shared_ptr<NodeWindow> make_window(const Transport& transport, std::size_t ranks,
                                        Reason& reason) {
  if (!is_wanted()) {
    reason = fmt::format("{}=off", variable);
  } else if (ranks == 1) {
    return nullptr;
  } else if (transport.reaches(MemorySpace::cuda)) {
    reason = "its messages may lie in a device's memory";
  } else {
    try {
      return std::make_shared<NodeWindow>(ranks);
    } catch (const Error& error) {
      reason = error.what();
    }
  }
  return nullptr;
}

std::vector<std::byte> bytes_of(const Offer& offer) {
  std::vector<std::byte> bytes(sizeof offer);
  std::memcpy(bytes.data(), &offer, sizeof offer);
  return bytes;
}

/// One that is too short offers nothing.
Offer offer_of(std::span<const std::byte> bytes) {
  Offer offer;
  if (bytes.size() == sizeof offer) std::memcpy(&offer, bytes.data(), sizeof offer);
  return offer;
}

/// @throws Error(unsupported), Error(memory)
NodeWindows::Peer meet(int rank, const Offer& offer, std::size_t ranks) {
  if (offer.fd < 0)
    throw Error(ErrorKind::unsupported, "rank " + std::to_string(rank) + " has no node window");
  const auto process = static_cast<pid_t>(offer.process);
  return {.rank = rank,
          .window =
              std::make_unique<PeerWindow>(process, static_cast<int>(offer.fd), offer.token, ranks),
          .process = process == getpid() ? ProcessWatch() : ProcessWatch(process)};
}

/// @throws Error(unsupported), Error(memory)
NodeWindows meet_all(const std::vector<int>& ranks, int own, std::shared_ptr<NodeWindow> window,
                     std::span<const std::vector<std::byte>> offers) {
  NodeWindows windows;
  windows.window = std::move(window);
  for (const int rank : ranks) {
    if (rank == own) {
      windows.own = windows.peers.size();
      windows.peers.push_back({.rank = rank, .window = nullptr});
    } else {
      windows.peers.push_back(
          meet(rank, offer_of(offers[static_cast<std::size_t>(rank)]), ranks.size()));
    }
  }
  return windows;
}

/// The text of a rank that has a reason, with its number: of one without a window if there is one,
/// for the others only lack that.
std::optional<std::string> first_reason(std::vector<int> ranks,
                                        std::span<const std::vector<std::byte>> offers,
                                        std::span<const std::vector<std::byte>> reasons) {
  // (std::ranges' has a subrange, which Clang 14 cannot make with GCC's library.)
  std::stable_partition(ranks.begin(), ranks.end(), [&](int rank) {
    return offer_of(offers[static_cast<std::size_t>(rank)]).fd < 0;
  });
  for (const int rank : ranks) {
    const auto& text = reasons[static_cast<std::size_t>(rank)];
    if (!text.empty())
      return "rank " + std::to_string(rank) + ": " +
             std::string(reinterpret_cast<const char*>(text.data()), text.size());
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<Transport> with_node_windows(std::shared_ptr<Transport> transport,
                                             const Exchange& exchange) {
  const auto topology = transport->topology();
  const auto rank = static_cast<std::size_t>(transport->rank());
  if (!topology || topology->nodes.count == static_cast<std::uint32_t>(transport->ranks())) {
    warn_of_wrong_text(*transport);
    return transport;
  }
  const std::vector<int> ranks = topology->nodes.ranks_of(topology->nodes.of_rank[rank]);
  Reason reason;
  std::shared_ptr<NodeWindow> window;
  const auto offers = tell_all(exchange, [&] {
    window = make_window(*transport, ranks.size(), reason);
    if (!window) return bytes_of({});
    return bytes_of({.process = getpid(), .fd = window->fd(), .token = window->token()});
  });
  NodeWindows windows;
  const auto reasons = tell_all(exchange, [&] {
    if (window) {
      try {
        windows = meet_all(ranks, transport->rank(), window, offers);
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    const auto text = std::as_bytes(std::span(reason));
    return std::vector<std::byte>(text.begin(), text.end());
  });
  if (ranks.size() == 1) return transport;
  const auto why_not = first_reason(ranks, offers, reasons);
  if (transport->rank() == ranks.front())
    log_once(why_not ? "messages inside the node do not go through node windows: " + *why_not
                     : "messages inside the node go through node windows");
  if (why_not) return transport;
  return std::make_shared<NodeTransport>(std::move(transport), std::move(windows));
}

}  // namespace cohom
