#pragma once
// Transport: moves bytes between ranks, nothing more.

#include <cohom/cxx20.hpp>

#include <cohom/error.hpp>
#include <cohom/memory_space.hpp>
#include <cohom/topology.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cohom {

class CallBoard;

/// Gives every rank the bytes of all ranks, by rank: what joins them before there is a transport,
/// over MPI, a launcher or a file. Collective, and blocks.
using Exchange = std::function<std::vector<std::vector<std::byte>>(std::span<const std::byte>)>;

/// A completed send, receive or reduction. `cookie` is the caller's own number for it.
struct Completion {
  std::uint64_t cookie = 0;
  std::size_t bytes = 0;  ///< bytes that arrived (receives); bytes asked for otherwise
  /// Of receive_or_lend(): where the message lies, if that is not the receive's buffer.
  const std::byte* lent = nullptr;
};

/// The messages of one call in flight. Messages from one rank to another with the same tag arrive
/// in the order they were sent. Used by one thread at a time. No function blocks, but for
/// give_up(), and the destructor of one that does not end at once.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Whether destroying it ends all that is under way, whatever other ranks do. False: it may have
  /// to wait for them until nothing reads or writes the memory of messages any more.
  [[nodiscard]] virtual bool ends_at_once() const { return true; }

  /// A call ends early on this rank: ends what is under way as far as that is possible within
  /// seconds. @returns whether all of it; if not, the rest goes on, until its memory and this
  /// channel end together. After this the channel is only asked again, which does not
  /// block, and destroyed.
  virtual bool give_up() noexcept { return true; }

  /// Starts sending; `data` must stay untouched until the completion. `bytes` may be zero.
  virtual void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
                    std::uint64_t cookie) = 0;

  /// Starts receiving up to `buffer.size()` bytes; a longer message is an Error(transport).
  virtual void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
                       std::uint64_t cookie) = 0;

  /// Like receive(), but the message may stay where its sender has it. Then the completion says
  /// where (Completion::lent), aligned to eight bytes, until it is given back.
  virtual void receive_or_lend(std::span<std::byte> buffer, int peer, std::uint32_t tag,
                               std::uint64_t cookie) {
    receive(buffer, peer, tag, cookie);
  }
  /// What a completion lent is read no more. @throws Error(transport) where its sender has ended
  /// the call meanwhile, so that what was read may have been wrong
  virtual void give_back(const std::byte* /*lent*/) {}

  /// Makes progress and reports at most `out.size()` completions.
  virtual std::size_t poll(std::span<Completion> out) = 0;

  /// Makes progress; whether all that was sent will arrive without another call in here. To be
  /// asked when every request is complete, until it is true: the rank may then go where nobody
  /// makes progress for this transport. @throws Error(transport)
  [[nodiscard]] virtual bool flushed() { return settled(); }

 private:
  /// The old name of flushed(): classes that override it still may.
  [[nodiscard]] virtual bool settled() { return true; }
};

/// Memory that a transport knows, until this is destroyed. It may outlive the transport.
class Registration {
 public:
  virtual ~Registration() = default;
};

/// Memory of the host that a transport gives out, until this is destroyed. It may outlive the
/// transport.
class MessageMemory {
 public:
  virtual ~MessageMemory() = default;
  [[nodiscard]] virtual std::span<std::byte> bytes() const = 0;
};

/// What moved between ranks, counted where it moved: payload bytes handed to the wire.
struct WireCounters {
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_sent = 0;
};

class Transport {
 public:
  /// Tags are below this number, whatever the transport.
  static constexpr std::uint32_t tag_limit = 1u << 20;

  virtual ~Transport() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  /// Messages up to this size travel at the transport's best (below its rendezvous limit on TCP).
  [[nodiscard]] virtual std::size_t preferred_message_bytes() const = 0;
  [[nodiscard]] virtual bool reaches(MemorySpace space) const = 0;
  /// Where it reaches a device: the best size of messages from there, and what carries them, e.g.
  /// "cuda_ipc".
  [[nodiscard]] virtual std::size_t preferred_device_message_bytes() const {
    return preferred_message_bytes();
  }
  [[nodiscard]] virtual std::string_view device_path() const { return "direct"; }
  /// Names memory of one space that many messages will be sent from or received into, so that no
  /// message has to be prepared for it. Memory that was not registered must be host memory. Local.
  /// Null where there is nothing to prepare. @throws Error(memory) or Error(transport)
  [[nodiscard]] virtual std::unique_ptr<Registration> register_memory(
      std::span<std::byte> /*memory*/, MemorySpace /*space*/) {
    return nullptr;
  }
  /// Zeros, aligned to a page, from where messages travel best. Local. Null: it has none, or no
  /// more of it, and any memory does.
  [[nodiscard]] virtual std::unique_ptr<MessageMemory> take_memory(std::size_t /*bytes*/) {
    return nullptr;
  }
  /// How many channels may be open at once: so many calls may be in flight. Equal on all ranks.
  [[nodiscard]] virtual std::uint32_t channels() const = 0;
  /// Channels of it are about to be used in this thread. @throws Error where that is not allowed
  virtual void check_thread() const {}
  /// Opens the channel of one call; all ranks use the same `number` < channels() for the same call.
  virtual std::unique_ptr<Channel> open(std::uint32_t number) = 0;
  /// Where all ranks read what each of them has to say about a call; of transports of the library
  /// alone. All ranks have one, or none: then they exchange messages. For the calls of the first
  /// communicator that takes it; null for others.
  [[nodiscard]] virtual CallBoard* take_board() { return nullptr; }
  /// Which ranks are near each other, as they told one another when the transport was made. Null:
  /// they did not, and every rank counts as a node of its own.
  [[nodiscard]] virtual std::shared_ptr<const Topology> topology() const { return nullptr; }
  /// Why no thread of the library may use it while the program's threads do anything else; empty:
  /// one may. It is used by one thread at a time all the same.
  [[nodiscard]] virtual std::string why_not_in_own_thread() const { return {}; }
  /// Why this rank can carry no payload any more; none while it can. Channels still open, to tell
  /// the other ranks.
  [[nodiscard]] virtual std::optional<Error> failure() const { return std::nullopt; }
  [[nodiscard]] virtual WireCounters counters() const = 0;
};

}  // namespace cohom
