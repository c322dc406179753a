#include "held_links.hpp"

#include "require.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace cohom::fuzz {

std::list<HeldMessage>& held_messages() {
  static std::list<HeldMessage> messages;
  return messages;
}

void let_go(std::list<HeldMessage>::iterator message) {
  require(std::ranges::equal(message->data, message->as_sent));
  message->leave();
  held_messages().erase(message);
}

ucx::Worker& no_worker() {
  alignas(ucx::Worker) static std::byte nowhere[sizeof(ucx::Worker)];
  return *reinterpret_cast<ucx::Worker*>(nowhere);
}

}  // namespace cohom::fuzz

// What message_link.cpp and endpoint.cpp have, as far as a daemon's group asks for it.
namespace cohom::ucx {

Endpoint::Endpoint(ucp_worker_h worker, std::span<const std::byte> address, bool /*to_itself*/,
                   std::size_t& failures)
    : worker_(worker), failures_(failures), path_text_("held") {
  if (address.front() == fuzz::unreachable)
    throw Error(ErrorKind::transport, "no path leads there");
}

Endpoint::~Endpoint() = default;

MessageLink::MessageLink(Worker& worker, std::span<const std::byte> address) : worker_(worker) {
  static std::size_t failures = 0;
  endpoint_ = std::make_unique<Endpoint>(nullptr, address, false, failures);
}

/// What is under way fails.
MessageLink::~MessageLink() {
  auto& held = fuzz::held_messages();
  for (auto i = held.begin(); i != held.end();) {
    const auto message = i++;
    if (message->link == this) fuzz::let_go(message);
  }
  fuzz::require(pending_.empty() && queued_bytes_ == 0);
}

void MessageLink::send(const cohom_header& header, std::span<const std::byte> data,
                       std::shared_ptr<const void> keep, std::size_t* pending,
                       const Promotion* /*promotion*/) {
  pending_.push_back(std::make_unique<Operation>());
  Operation& operation = *pending_.back();
  operation = {this,    {.message = header}, std::move(keep),
               pending, pending_.size() - 1, data.size()};
  queued_bytes_ += data.size();
  if (pending != nullptr) ++*pending;
  fuzz::held_messages().push_back({.link = this,
                                   .header = header,
                                   .data = data,
                                   .as_sent = {data.begin(), data.end()},
                                   .leave = [this, &operation] { close(operation, UCS_OK); }});
}

void MessageLink::close(Operation& operation, ucs_status_t /*status*/) {
  if (operation.pending != nullptr) --*operation.pending;
  queued_bytes_ -= operation.bytes;
  std::erase_if(pending_, [&](const auto& one) { return one.get() == &operation; });
}

}  // namespace cohom::ucx
