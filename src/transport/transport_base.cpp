#include "transport/transport_base.hpp"

#include <cohom/error.hpp>

#include <string>
#include <thread>
#include <utility>

namespace cohom {

using Clock = std::chrono::steady_clock;

std::optional<Error> TransportBase::failure() const {
  if (!call_ended_early_) return std::nullopt;
  return Error(ErrorKind::transport,
               "an earlier call on this communicator ended with messages under way; make a new "
               "communicator");
}

bool ChannelBase::give_up() noexcept {
  if (std::exchange(gave_up_, true)) {
    advance();
    return !uses_memory();
  }
  // Who waited for one call need not be waited for again.
  const auto wait = base_.call_ended_early_ ? std::chrono::milliseconds{0} : patience_;
  // Of a call that ended early; then its peers' messages may still come, and a later call with the
  // same tags would take them for its own.
  if (uses_memory()) base_.call_ended_early_ = true;
  cancel_receives();
  const auto deadline = Clock::now() + wait;
  while (!advance() && Clock::now() < deadline) std::this_thread::yield();
  return !uses_memory();
}

void ChannelBase::end() noexcept {
  give_up();
  while (!advance() && is_being_written_to()) std::this_thread::yield();
}

void ChannelBase::count_sent(int peer, std::size_t bytes) {
  if (peer == base_.rank_) return;
  base_.counters_.bytes_sent += bytes;
  ++base_.counters_.messages_sent;
}

void ChannelBase::expect_tag(std::uint32_t tag) {
  if (tag >= Transport::tag_limit)
    throw Error(ErrorKind::transport, "tag " + std::to_string(tag) + " is not below " +
                                          std::to_string(Transport::tag_limit));
}

}  // namespace cohom
